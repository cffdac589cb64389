"""Feedback, ticks, the boundary, branches and refusals of the diffusion stages, one packet at a time."""

from __future__ import annotations

import json

import finsy as fy
import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from groupflow.switch import Switch
from tests.support.p4.diffusion import (
    ANSWER,
    DOWNSTREAM,
    EXTERNAL,
    FASTEST,
    FIRST,
    FLOW,
    GENERATOR_PORT,
    NO_LIMIT,
    ONE,
    PROBE,
    RATE_MAX,
    SLOWEST,
    UPSTREAM,
    Feedback,
    cell,
    external_entry,
    feedback,
    parsed,
    rate,
    report,
    set_depth,
    set_share,
    source_entry,
    tick,
    tick_entry,
)
from tests.support.p4.layers import ACK, DATA, SYNC
from tests.support.p4.network import (
    ROUTER_MAC,
    absorbed,
    admit_entry,
    drops,
    frame,
    mac,
    new_switch,
    ports,
    route_entry,
    stream_entry,
)

FOUR = (0x02, 0x40, 0x40)  # 4 per second: 256 units a packet


@pytest.fixture
def node(bare: Switch) -> Switch:
    """A node with the flow: D_i = 4/s, L without limit."""
    bare.write([+source_entry(d=FOUR, limit=1000), +tick_entry(d=FOUR, limit=1000)])
    set_share(bare, NO_LIMIT)
    return bare


def test_feedback_sets_the_rate_by_equation_2(node: Switch) -> None:
    set_depth(node, 10)
    assert node.run(DOWNSTREAM, feedback(r=64_000, n=7)) == []
    assert rate(node) == 64_000 - 256 * (7 - 10)
    assert (absorbed(node), drops(node)) == (1, {})


def test_a_negative_result_pauses_the_queue(node: Switch) -> None:
    node.run(DOWNSTREAM, feedback(r=640, n=100))
    assert rate(node) == 0


def test_a_tick_reports_r_and_n_upstream(node: Switch) -> None:
    node.run(DOWNSTREAM, feedback(r=64_000, n=7))
    set_depth(node, 10)
    (output,) = node.run(GENERATOR_PORT, tick())
    assert output.port == UPSTREAM
    assert output.frame[:12] == tick()[:12]
    assert parsed(output) == Feedback(FLOW, 0, 64_000 - 256 * (7 - 10), 10)


def test_only_the_flow_and_the_port_of_a_host_that_shapes_get_equation_9(bare: Switch) -> None:
    bare.write([+tick_entry(), +external_entry(flow=FLOW + 1), +external_entry(port=UPSTREAM + 5)])
    set_share(bare, 100)
    assert report(bare) == Feedback(FLOW, 0, 100, 0)


def test_r_and_n_of_a_report_are_of_one_moment(node: Switch) -> None:
    """n_i enters J~(1) as it is at the tick, not as it was when feedback came."""
    node.run(DOWNSTREAM, feedback(r=64_000, n=0))
    for n in (0, 5, 50):
        set_depth(node, n)
        assert report(node) == Feedback(FLOW, 0, 64_000 + 256 * n, n)
    assert rate(node) == 64_000  # the queue's rate changes with feedback only


@pytest.mark.parametrize(
    ("share", "r"),
    [(50_000, 50_000), (70_000, 64_000), (0, 0), (NO_LIMIT, 64_000), (2**31, 64_000), (RATE_MAX, 64_000)],
)
def test_the_link_bounds_what_is_reported(node: Switch, share: int, r: int) -> None:
    node.run(DOWNSTREAM, feedback(r=64_000, n=0))
    set_share(node, share)
    assert report(node).r == r


def test_what_is_reported_is_never_negative(node: Switch) -> None:
    node.run(DOWNSTREAM, feedback(r=0, n=900))
    assert report(node).r == 0


def test_before_any_feedback_only_the_link_limits(node: Switch) -> None:
    assert report(node).r == RATE_MAX
    set_share(node, 12_345)
    assert report(node).r == 12_345


def test_the_last_node_is_limited_by_its_link(bare: Switch) -> None:
    """No neighbour follows: the rate is the link's, so that eq. 13 has something to share."""
    bare.write([+tick_entry(line_rate=64_000)])
    set_share(bare, 32_000)
    set_depth(bare, 1000)
    assert report(bare) == Feedback(FLOW, 0, 32_000, 1000)
    assert rate(bare) == 64_000


def test_a_tick_without_line_rate_leaves_the_rate_alone(node: Switch) -> None:
    report(node)
    assert rate(node) == NO_LIMIT or rate(node) == 0  # as it was before anything was written


def test_alpha_counts_for_the_queue_and_not_for_the_report(bare: Switch) -> None:
    half_more = (0x00, 0x7F, 0x40)
    bare.write([+source_entry(alpha=half_more), +tick_entry()])
    set_share(bare, NO_LIMIT)
    bare.run(DOWNSTREAM, feedback(r=64_000))
    assert rate(bare) == 96_000
    assert report(bare).r == 64_000


def test_the_boundary_reports_equation_9(bare: Switch) -> None:
    """r_0 = alpha J_1(1) - D_0 n_1, where a report leaves to a host that shapes."""
    half_more = (0x00, 0x7F, 0x40)
    bare.write(
        [
            +source_entry(d=FOUR, limit=1000),
            +tick_entry(d=FOUR, limit=1000),
            +external_entry(alpha=half_more, d=(0x03, 0x40, 0x40), limit=1000),
        ]
    )
    set_share(bare, 60_000)
    set_depth(bare, 10)
    bare.run(DOWNSTREAM, feedback(r=64_000, n=0))
    assert report(bare) == Feedback(FLOW, EXTERNAL, 60_000 * 3 // 2 - 512 * 10, 10)


def test_a_boundary_target_may_be_negative(bare: Switch) -> None:
    bare.write([+tick_entry(), +external_entry(d=FOUR, limit=1000)])
    set_share(bare, 100)
    set_depth(bare, 10)
    assert report(bare) == Feedback(FLOW, EXTERNAL, 100 - 2560, 10)


BRANCHES = (2, 3, 4)  # ports


def branching(switch: Switch, *, fastest: bool) -> Switch:
    switch.write([+source_entry(port=port) for port in BRANCHES])
    switch.write(
        [
            +tick_entry(
                branch=number,
                port=port,
                to_port=UPSTREAM if number == 2 else None,
                combine=FIRST if number == 0 else FASTEST if fastest else SLOWEST,
            )
            for number, port in enumerate(BRANCHES)
        ]
    )
    for port in BRANCHES:
        set_share(switch, NO_LIMIT, cell(port))
    return switch


def hear(switch: Switch, heard: dict[int, tuple[int, int]]) -> list[Feedback]:
    """The report after feedback and depth of each branch, and a round of ticks."""
    for port, (r, n) in heard.items():
        switch.run(port, feedback(r=r))
        set_depth(switch, n, cell(port))
    outputs = [output for number in range(3) for output in switch.run(GENERATOR_PORT, tick(branch=number))]
    return [parsed(output) for output in outputs]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
@pytest.mark.parametrize(("fastest", "r", "n"), [(False, 1000, 30), (True, 3000, 10)])
def test_a_branching_node_reports_once_for_all(
    bare: Switch, fastest: bool, r: int, n: int, order: tuple[int, ...]
) -> None:
    """strict: no branch is sent more than it takes; isolate: the fastest branch sets the rate."""
    node = branching(bare, fastest=fastest)
    values = [(1000, 20), (2000, 30), (3000, 10)]
    heard = {port: values[place] for port, place in zip(BRANCHES, order, strict=True)}
    assert hear(node, heard) == [Feedback(FLOW, 0, r, n)]
    assert [rate(node, cell(port)) for port in BRANCHES] == [heard[port][0] for port in BRANCHES]


def test_each_round_begins_anew(bare: Switch) -> None:
    node = branching(bare, fastest=False)
    assert hear(node, dict.fromkeys(BRANCHES, (10, 90))) == [Feedback(FLOW, 0, 10, 90)]
    assert hear(node, dict.fromkeys(BRANCHES, (5000, 0))) == [Feedback(FLOW, 0, 5000, 0)]


REFUSED = {
    "feedback from upstream": (UPSTREAM, feedback(), "wrong_neighbour"),
    "feedback of another flow": (DOWNSTREAM, feedback(flow=6), "wrong_neighbour"),
    "feedback of no flow": (DOWNSTREAM, feedback(flow=0), "wrong_neighbour"),
    "a tick from a wire": (DOWNSTREAM, tick(), "not_generator"),
    "a tick of another flow": (GENERATOR_PORT, tick(flow=6), "unknown_flow"),
    "a tick of another branch": (GENERATOR_PORT, tick(branch=1), "unknown_flow"),
    "short feedback": (DOWNSTREAM, feedback()[:25], "malformed"),
    "a short tick": (GENERATOR_PORT, tick()[:25], "malformed"),
    "a short probe": (DOWNSTREAM, feedback(flags=PROBE)[:25], "malformed"),
    "feedback without flags": (DOWNSTREAM, feedback()[:17], "malformed"),
}


@pytest.mark.parametrize(("port", "data", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals_are_counted_and_change_nothing(node: Switch, port: int, data: bytes, reason: str) -> None:
    node.run(DOWNSTREAM, feedback(r=640))
    before = rate(node)
    assert node.run(port, data) == []
    assert (absorbed(node), drops(node)) == (1, {reason: 1})
    assert rate(node) == before


def test_a_tick_of_the_controller_counts_as_one(node: Switch) -> None:
    node.packet_out(tick(), egress_port=0, inject=1, padding=0)
    (output,) = node.advance(0)
    assert parsed(output).flow == FLOW


def test_a_tick_for_nobody_upstream_is_absorbed(bare: Switch) -> None:
    bare.write([+tick_entry(to_port=None, line_rate=64)])
    assert bare.run(GENERATOR_PORT, tick()) == []
    assert (absorbed(bare), drops(bare)) == (1, {})
    assert rate(bare) == 64


def test_frames_need_no_padding(node: Switch) -> None:
    node.run(DOWNSTREAM, feedback(r=640)[:26])
    assert rate(node) == 640
    (output,) = node.run(GENERATOR_PORT, tick()[:26])
    assert len(output.frame) == 26


def rule(queue: int, priority: int = 1, **match: object) -> fy.P4TableEntry:
    return fy.P4TableEntry(
        "controlled_flows",
        priority=priority,
        match=fy.P4TableMatch(match),
        action=fy.P4TableAction("to_queue", queue=queue),
    )


ROUTED = Ether(dst=ROUTER_MAC, src=mac(1)) / IP(src="10.0.0.1", dst="10.0.0.3")


@pytest.mark.parametrize(
    ("port", "packet", "queue"),
    [
        (1, ROUTED / TCP(sport=5001, dport=80), 2),
        (1, ROUTED / UDP(sport=5001, dport=80), 0),
        (1, ROUTED / TCP(sport=5002, dport=80), 0),
        (1, ROUTED / UDP(sport=1, dport=53), 3),
        (4, ROUTED / TCP(sport=9, dport=80), 6),
    ],
    ids=["TCP", "another protocol", "another port", "UDP", "per input port"],
)
def test_rules_put_packets_into_queues(bare: Switch, port: int, packet: Packet, queue: int) -> None:
    bare.write(
        [
            +admit_entry(),
            +route_entry("10.0.0.0/24", 3),
            +rule(2, ipv4_src="10.0.0.1", ip_protocol=6, l4_src_port=5001, priority=9),
            +rule(3, l4_dst_port=53, ip_protocol=17),
            +rule(6, ingress_port=4),
        ]
    )
    (output,) = bare.run(port, packet)
    assert output.port == 3
    assert queues_used(bare, 3) == {queue: 1}


@pytest.mark.parametrize(("kind", "queue"), [(DATA, 4), (SYNC, 4)])
def test_a_sessions_data_takes_its_queue_at_every_port(switch: Switch, kind: int, queue: int) -> None:
    switch.write([~stream_entry(queue=queue)])
    sent = switch.run(1, frame(1, kind))
    assert len(sent) == 4
    assert all(queues_used(switch, port) == {queue: 1} for port in ports(sent))


def test_acknowledgements_of_a_session_are_not_controlled(switch: Switch) -> None:
    switch.write([~stream_entry(queue=4)])
    for port in (3, 4):
        switch.run(port, frame(port, ACK, seq=5))
    (up, _agent) = switch.run(5, frame(5, ACK, seq=5, member=0))
    assert queues_used(switch, up.port) == {0: 1}


UNROUTED = Ether(dst=ROUTER_MAC, src=mac(1)) / IP(src="10.0.0.1", dst="10.9.9.9") / UDP(sport=1, dport=2)


def test_what_is_dropped_is_not_counted_in_a_flow(switch: Switch) -> None:
    entry = rule(2, ingress_port=1)
    switch.write([+admit_entry(), +entry])
    assert switch.run(1, UNROUTED) == []
    assert drops(switch) == {"no_route": 1}
    (counted,) = switch.read(fy.P4DirectCounterEntry("flow_counter", table_entry=entry))
    assert counted.packet_count == 0


def queues_used(switch: Switch, port: int) -> dict[int, int]:
    """Packets sent by each queue of a port that sent any."""
    stats = json.loads(switch.stats())
    (found,) = [entry for entry in stats["ports"] if entry["port"] == port]
    return {queue["priority"]: queue["sent"] for queue in found["out"]["queues"] if queue["sent"]}


def test_feedback_leaves_in_queue_7(node: Switch) -> None:
    report(node)
    assert queues_used(node, UPSTREAM) == {7: 1}


def test_a_probe_comes_back_with_both_times(bare: Switch) -> None:
    """Stamped where it leaves, sent back by the neighbour, read where it left: one clock, microseconds."""
    other = new_switch()
    asked = feedback(flow=77, flags=PROBE)
    bare.packet_out(asked, egress_port=2, inject=0, padding=0, now_ns=5_000_000)
    (leaving,) = bare.advance(5_000_000)
    assert parsed(leaving) == Feedback(77, PROBE, 5000, 0)
    (back,) = other.run(2, leaving.frame, 900_000_000)
    assert (back.port, parsed(back)) == (2, Feedback(77, PROBE | ANSWER, 5000, 0))
    bare.inject(2, back.frame, 25_000_000)
    assert bare.advance(25_000_000) == []
    (told,) = bare.packet_ins
    assert told.metadata["ingress_port"] == 2 and told.metadata["reason"] == 3
    assert told.payload[14:26] == feedback(flow=77, flags=PROBE | ANSWER, r=5000, n=25_000)[14:26]


def test_a_neighbour_answers_whatever_the_controller_knows(bare: Switch) -> None:
    (back,) = bare.run(5, feedback(flow=1, flags=PROBE))
    assert back.port == 5 and queues_used(bare, 5) == {7: 1}


def test_terms_are_what_the_comments_say(bare: Switch) -> None:
    """0x83 is -8, 0x7e is +1/4, 0x40 is none (p4src/stages/scaling.p4)."""
    assert ONE == (0, 0x40, 0x40)
    bare.write([+source_entry(alpha=(0x01, 0xFE, 0x40), d=(0x83, 0x7E, 0x40), limit=1000)])
    bare.run(DOWNSTREAM, feedback(r=400, n=1))
    assert rate(bare) == 2 * 400 - 100 + 8 * 64 - 16
