"""The controller's packet-ins and packet-outs, probes of links, and diffusion."""

from __future__ import annotations

import struct
import time

import finsy as fy
import pytest

from groupflow.p4rt.entries import Rate
from tests.conformance.process_switch import RemoteSwitch
from tests.ptf.cases import Case, Counted, Frame, Target, Write, bare, guarded, padded, run
from tests.support.p4.diffusion import (
    ANSWER,
    DOWNSTREAM,
    EXTERNAL,
    FLOW,
    GENERATOR_PORT,
    PROBE,
    RATE_MAX,
    UPSTREAM,
    Feedback,
    external_entry,
    feedback,
    parsed,
    source_entry,
    tick,
    tick_entry,
)
from tests.support.p4.layers import ACK, DATA, JOIN, KEEPALIVE, LEAVE, QUERY, REPORT
from tests.support.p4.network import DOWN, FIRST, PORTS, frame, mac, ports, rate_entry

PUNT_CONTROL, PUNT_PROBE = 1, 3


def node(switch: RemoteSwitch) -> None:
    """A node of a flow, whose link has no delay."""
    switch.write([+source_entry(), +tick_entry(line_rate=640)])


def message(kind: int) -> Frame:
    return Frame(FIRST, frame(FIRST, kind, b"payload", member=0), punted=PUNT_CONTROL)


def answer_of_a_probe() -> bytes:
    probe = bytearray(feedback(flow=77, flags=PROBE | ANSWER))
    probe[6:12] = bytes.fromhex(mac(FIRST).replace(":", ""))
    return bytes(probe)


KEEPALIVES = fy.P4CounterEntry("punts", index=KEEPALIVE)
CASES = {
    "a host joins": Case(bare, (message(JOIN),)),
    "a host leaves": Case(bare, (message(LEAVE),)),
    "a host asks": Case(bare, (message(QUERY),)),
    "a host reports": Case(bare, (message(REPORT),)),
    "a host lives": Case(
        bare,
        (
            Write((~fy.P4CounterEntry("punts", index=KEEPALIVE, data=fy.P4CounterData()),)),
            message(KEEPALIVE),
            message(KEEPALIVE),
            Counted(KEEPALIVES, 2),
        ),
    ),
    "data of no session": Case(bare, (Frame(FIRST, frame(FIRST, DATA), drop="unknown_session"),)),
    "an acknowledgement of no session": Case(
        bare, (Frame(FIRST, frame(FIRST, ACK), drop="unknown_session"),)
    ),
    "a probe comes back": Case(
        bare, (Frame(DOWN, feedback(77, flags=PROBE), out=((DOWN, feedback(77, flags=PROBE | ANSWER)),)),)
    ),
    "a host's probe": Case(guarded, (Frame(FIRST, answer_of_a_probe(), drop="not_switch"),)),
    "feedback is taken": Case(
        node,
        (
            Frame(DOWNSTREAM, feedback(r=640, n=7)),
            Counted(fy.P4CounterEntry("absorbed", index=0), 1),
            Counted(fy.P4DirectCounterEntry("feedback_counter", table_entry=source_entry()), 1),
        ),
        needs="diffusion",
    ),
    **{
        f"diffusion refuses {name}": Case(node, (Frame(port, data, drop=reason),), needs="diffusion")
        for name, port, data, reason in (
            ("feedback from upstream", UPSTREAM, feedback(), "wrong_neighbour"),
            ("feedback of another flow", DOWNSTREAM, feedback(flow=6), "wrong_neighbour"),
            ("a tick from a wire", DOWNSTREAM, tick(), "not_generator"),
            ("a tick of another flow", GENERATOR_PORT, tick(flow=6), "unknown_flow"),
        )
    },
    "a tick reports upstream": Case(
        node,
        (
            Frame(DOWNSTREAM, feedback(r=0)),
            Frame(GENERATOR_PORT, tick(), out=((UPSTREAM, feedback(FLOW, r=0)),)),
            Counted(fy.P4DirectCounterEntry("tick_counter", table_entry=tick_entry()), 1),
        ),
        needs="diffusion",
    ),
    "a host that shapes gets its own rate": Case(
        node,
        (
            Write((+external_entry(),)),
            Frame(DOWNSTREAM, feedback(r=0)),
            Frame(GENERATOR_PORT, tick(), out=((UPSTREAM, feedback(FLOW, r=0, flags=EXTERNAL)),)),
        ),
        needs="diffusion",
    ),
    "a tick reports the neighbour's rate": Case(
        node,
        (
            Frame(DOWNSTREAM, feedback(r=64_000)),
            Frame(GENERATOR_PORT, tick(), out=((UPSTREAM, feedback(FLOW, r=64_000)),)),
            Frame(DOWNSTREAM, feedback(r=RATE_MAX)),
        ),
        needs="diffusion rates",
    ),
    "a tick for nobody": Case(
        lambda switch: switch.write([+tick_entry(to_port=None)]),
        (Frame(GENERATOR_PORT, tick()), Counted(fy.P4CounterEntry("absorbed", index=0), 1)),
        needs="diffusion",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_control(target: Target, case: Case) -> None:
    run(target, case)


def test_a_packet_out_leaves_as_it_is(target: Target) -> None:
    switch, packet = target.switch, bytes(range(60))
    switch.clear()
    for port in PORTS:
        switch.packet_out(packet, egress_port=port, inject=0, padding=0)
    left = switch.advance(0)
    assert ports(left) == [*PORTS] and all(output.frame == packet for output in left)


def test_a_probe_tells_both_times(target: Target) -> None:
    """Stamped where it leaves, read where it comes back: one clock, in microseconds, of 32 bits."""
    switch = target.switch
    switch.clear()
    before = time.monotonic()
    switch.packet_out(feedback(77, flags=PROBE), egress_port=DOWN, inject=0, padding=0)
    (leaving,) = switch.advance(0)
    sent = parsed(leaving).r
    assert (leaving.port, parsed(leaving)) == (DOWN, Feedback(77, PROBE, sent, 0))
    assert switch.run(DOWN, feedback(77, flags=PROBE | ANSWER, r=sent)) == []
    (told,) = switch.packet_ins
    assert (told.metadata["ingress_port"], told.metadata["reason"]) == (DOWN, PUNT_PROBE)
    number, flags, stamp, returned = struct.unpack_from("!HHiI", told.payload, 14)
    assert (number, flags, stamp) == (77, PROBE | ANSWER, sent)
    assert 0 < (returned - sent) % 2**32 < (time.monotonic() - before) * 1e6


def test_a_meter_bounds_the_messages_of_a_port(target: Target) -> None:
    """Its rate is so low that the clock does not matter."""
    switch = target.switch
    switch.clear()
    switch.write([~rate_entry(2 * FIRST + 1, Rate(packets=1, burst=3))])
    for _ in range(20):
        switch.inject(FIRST, padded(frame(FIRST, KEEPALIVE, member=0)))
    assert switch.advance(0) == []
    passed = len(switch.packet_ins)
    assert 3 <= passed <= 5
    switch.write([~fy.P4MeterEntry("punt_meter", index=2 * FIRST + 1)])
    switch.packet_ins.clear()
    assert switch.run(FIRST, frame(FIRST, KEEPALIVE, member=0)) == []
    assert len(switch.packet_ins) == 1
