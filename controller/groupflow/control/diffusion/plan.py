"""The entries of each switch for one controlled flow. Pure functions (docs/explanation/diffusion.md)."""

import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from groupflow.control.diffusion import coefficients
from groupflow.p4rt.entries import GENERATORS, QUEUE_SETTINGS, Entries, Generator, Key, QueueSettings, action

QUEUES = 8
"""Queues a port; a cell of the registers is port * QUEUES + queue."""
FLOW_QUEUES = range(1, 7)
FLOW_LEVEL = 1
"""Level of all controlled queues; feedback has a higher one, packets without control a lower one."""
LAST_FLOW = 4095
GENERATORS_OF_A_SWITCH = 64
GENERATOR_PORT = 0
ETHERTYPE_TICK = 0x88B6
NEAREST_BRIDGE = bytes.fromhex("0180c200000e")
"""The group address that no bridge passes on: feedback goes one hop."""
LEAST_PERIOD_NS = 1_000
IDLE_PERIOD_NS = 1_000_000
"""Period of ticks that only keep a last hop's rate set, where no link delay gives the period."""
BRANCH_STEP_NS = 1_000
"""Time between the ticks of a flow's branches, which must keep their order."""
RULE_PRIORITY = 10
FIRST, SLOWEST, FASTEST = range(3)
"""The operation that joins a branch's report with those before it: COMBINE_* in p4src/stages/metadata.p4."""
_NO_TERMS = (coefficients.NO_TERM, coefficients.NO_TERM, coefficients.NO_TERM)


@dataclass(frozen=True)
class Rule:
    """The packets that belong to a flow, by the keys of table controlled_flows; None: any value."""

    ingress_port: int | None = None
    egress_port: int | None = None
    src: int | None = None
    dst: int | None = None
    protocol: int | None = None
    src_port: int | None = None
    dst_port: int | None = None

    def match(self) -> tuple[int, ...]:
        """The match values of table controlled_flows."""
        pairs = zip(vars(self).values(), (9, 9, 32, 32, 8, 16, 16), strict=True)
        numbers = [(value, (1 << bits) - 1) if value is not None else (0, 0) for value, bits in pairs]
        return (*(number for pair in numbers for number in pair), RULE_PRIORITY)


class Branch(NamedTuple):
    """A downstream neighbour of a node."""

    node: str
    port: int
    delay_ns: int
    line_rate: int
    """rate of the port, in units"""
    controlled: bool
    """the neighbour is a switch that takes part, and not the end of the control"""


class Upstream(NamedTuple):
    """The node before a switch, which gets its reports."""

    node: str
    port: int
    delay_ns: int
    external: bool
    """the node is a host that shapes its packets, and is told eq. 9's rate"""


class Part(NamedTuple):
    """A switch's part in a controlled flow."""

    switch: str
    mac: bytes
    upstream: Upstream | None
    branches: tuple[Branch, ...]
    queue: int
    generators: tuple[int, ...]
    """numbers of the switch's packet generators, one for each branch"""


def part_entries(
    flow: int, rule: Rule | None, part: Part, d: Fraction, alpha: Fraction, *, isolate: bool = False
) -> Entries:
    """All entries of a switch for its part but that of a session's stream. Raises InvalidError."""
    ports = {branch.port for branch in part.branches}
    # Controlled flows share a level, so that eq. 13 shares the port between them.
    shared = QueueSettings(FLOW_LEVEL, 1)
    entries: Entries = {Key(QUEUE_SETTINGS, (port, q)): shared for port in ports for q in FLOW_QUEUES}
    if rule:
        entries[Key("controlled_flows", rule.match())] = action("to_queue", queue=part.queue)
    for branch in part.branches:
        if branch.controlled:
            key = Key("feedback_sources", (flow, branch.port))
            link = _link(d, branch.delay_ns, alpha=alpha)
            entries[key] = action("from_downstream", to_cell=_cell(part, branch), **link)
    entries |= _tick_entries(flow, part, d, alpha, isolate=isolate)
    entries |= _generator_entries(flow, part)
    return entries


def _tick_entries(flow: int, part: Part, d: Fraction, alpha: Fraction, *, isolate: bool) -> Entries:
    entries: Entries = {}
    upstream = part.upstream
    last = len(part.branches) - 1
    for number, branch in enumerate(part.branches):
        entries[Key("ticks", (flow, number))] = action(
            "report",
            of_cell=_cell(part, branch),
            **(_link(d, branch.delay_ns) if branch.controlled else {"limit": 1, **_terms("d", _NO_TERMS)}),
            line_rate=0 if branch.controlled else min(branch.line_rate, coefficients.RATE_MAX),
            send=int(upstream is not None and number == last),
            to_port=upstream.port if upstream else 0,
            combine=FIRST if number == 0 else FASTEST if isolate else SLOWEST,
        )
    if upstream and upstream.external:
        link = _link(d, upstream.delay_ns, alpha=alpha)
        entries[Key("external_reports", (flow, upstream.port))] = action("report_external", **link)
    return entries


def _generator_entries(flow: int, part: Part) -> Entries:
    """One tick each delay of the upstream link (tau_i = d_i-1); without reports, of the link downstream."""
    delays = [branch.delay_ns for branch in part.branches]
    period = (part.upstream.delay_ns if part.upstream else max(delays, default=0)) or IDLE_PERIOD_NS
    return {
        Key(GENERATORS, (number,)): Generator(
            max(period, LEAST_PERIOD_NS),
            tick * BRANCH_STEP_NS,
            GENERATOR_PORT,
            tick_frame(flow, tick, part.mac),
        )
        for tick, number in enumerate(part.generators)
    }


def tick_frame(flow: int, branch: int, mac: bytes) -> bytes:
    """A tick as the packet generator sends it: 60 bytes, the size of the feedback that the P4 makes of it."""
    ethernet = NEAREST_BRIDGE + mac + struct.pack("!H", ETHERTYPE_TICK)
    return (ethernet + struct.pack("!HH", flow, branch)).ljust(60, b"\0")


def _link(d: Fraction, delay_ns: int, *, alpha: Fraction | None = None) -> dict[str, int]:
    """The parameters of a link: its limit, and the terms of its coefficients."""
    coefficient = coefficients.diffusion_coefficient(d, delay_ns)
    terms = _terms("alpha", coefficients.alpha_coefficient(alpha).codes) if alpha is not None else {}
    return {"limit": coefficients.clamp_limit(coefficient), **terms, **_terms("d", coefficient.codes)}


def _terms(name: str, codes: tuple[int, int, int]) -> dict[str, int]:
    return {f"{name}_{term}": code for term, code in zip("abc", codes, strict=True)}


def _cell(part: Part, branch: Branch) -> int:
    return branch.port * QUEUES + part.queue
