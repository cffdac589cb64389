"""Parts that the tests of the diffusion stages share: table entries, registers and frames.

One flow through one node: it comes from the node behind port 1 and goes to the one behind port 2.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import finsy as fy

from groupflow.switch import Output, Switch

FEEDBACK, TICK = 0x88B5, 0x88B6
EXTERNAL, PROBE, ANSWER = 1, 2, 4
FIRST, SLOWEST, FASTEST = range(3)  # COMBINE_*
FLOW, QUEUE, UPSTREAM, DOWNSTREAM = 5, 3, 1, 2
GENERATOR_PORT = 0
NO_TERM = 0x40
RATE_MAX = 2**31 - 1
NO_LIMIT = 2**32 - 1
QUEUES = 8

Terms = tuple[int, int, int]
ONE: Terms = (0, NO_TERM, NO_TERM)
NONE: Terms = (NO_TERM, NO_TERM, NO_TERM)


class Feedback(NamedTuple):
    flow: int
    flags: int
    r: int
    n: int


def cell(port: int = DOWNSTREAM, queue: int = QUEUE) -> int:
    return port * QUEUES + queue


def feedback(flow: int = FLOW, r: int = 0, n: int = 0, flags: int = 0) -> bytes:
    """A neighbour's report, 60 bytes."""
    return _frame(FEEDBACK, struct.pack("!HHiI", flow, flags, r, n))


def tick(flow: int = FLOW, branch: int = 0) -> bytes:
    """A tick as the packet generator makes it, 60 bytes."""
    return _frame(TICK, struct.pack("!HH", flow, branch))


def _frame(ethertype: int, header: bytes) -> bytes:
    ethernet = bytes.fromhex("0180c200000e 020000000001") + ethertype.to_bytes(2, "big")
    return ethernet + header.ljust(46, b"\0")


def parsed(output: Output) -> Feedback:
    assert output.frame[12:14] == b"\x88\xb5" and len(output.frame) == 60
    return Feedback(*struct.unpack_from("!HHiI", output.frame, 14))


def _terms(name: str, terms: Terms) -> dict[str, int]:
    return {f"{name}_{letter}": term for letter, term in zip("abc", terms, strict=True)}


def source_entry(
    flow: int = FLOW,
    port: int = DOWNSTREAM,
    queue: int = QUEUE,
    *,
    alpha: Terms = ONE,
    d: Terms = NONE,
    limit: int = RATE_MAX,
) -> fy.P4TableEntry:
    """Feedback of the flow is taken from the port."""
    parameters = {"to_cell": cell(port, queue), "limit": limit} | _terms("alpha", alpha) | _terms("d", d)
    return fy.P4TableEntry(
        "feedback_sources",
        match=fy.P4TableMatch({"flow": flow, "ingress_port": port}),
        action=fy.P4TableAction("from_downstream", **parameters),
    )


def tick_entry(
    flow: int = FLOW,
    branch: int = 0,
    port: int = DOWNSTREAM,
    queue: int = QUEUE,
    *,
    d: Terms = NONE,
    limit: int = RATE_MAX,
    line_rate: int = 0,
    to_port: int | None = UPSTREAM,
    combine: int = FIRST,
) -> fy.P4TableEntry:
    """A tick of the flow's branch computes its report; `to_port` None: for a later branch, or for nobody."""
    parameters = {
        "of_cell": cell(port, queue),
        "limit": limit,
        "line_rate": line_rate,
        "send": to_port is not None,
        "to_port": to_port or 0,
        "combine": combine,
    } | _terms("d", d)
    return fy.P4TableEntry(
        "ticks",
        match=fy.P4TableMatch({"flow": flow, "branch": branch}),
        action=fy.P4TableAction("report", **parameters),
    )


def external_entry(
    flow: int = FLOW, port: int = UPSTREAM, *, alpha: Terms = ONE, d: Terms = NONE, limit: int = RATE_MAX
) -> fy.P4TableEntry:
    """A host behind the port shapes the flow to the rate that it is told."""
    parameters = {"limit": limit} | _terms("alpha", alpha) | _terms("d", d)
    return fy.P4TableEntry(
        "external_reports",
        match=fy.P4TableMatch({"flow": flow, "egress_port": port}),
        action=fy.P4TableAction("report_external", **parameters),
    )


def set_register(switch: Switch, name: str, index: int, value: int) -> None:
    """Writes a register's cell, as the traffic manager would."""
    switch.write([~fy.P4RegisterEntry(name, index=index, data=value)])


def set_depth(switch: Switch, n: int, at: int | None = None) -> None:
    set_register(switch, "queue_depth", cell() if at is None else at, n)


def set_share(switch: Switch, share: int, at: int | None = None) -> None:
    set_register(switch, "queue_share", cell() if at is None else at, share)


def rate(switch: Switch, at: int | None = None) -> int:
    return switch.register("queue_rate", cell() if at is None else at)


def report(switch: Switch, flow: int = FLOW, branch: int = 0, to_port: int = UPSTREAM) -> Feedback:
    """The report that a tick makes the switch send upstream."""
    (output,) = switch.run(GENERATOR_PORT, tick(flow, branch))
    assert output.port == to_port
    return parsed(output)
