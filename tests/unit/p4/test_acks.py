"""Acknowledgement aggregation: the minimum over branches goes up, once, when it grows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.l2 import Ether

from groupflow.switch import Output, Switch
from tests.support.p4.layers import ACK, DATA, FORCED, SYNC, Group
from tests.support.p4.network import (
    ACK_GROUP,
    AGENT,
    DOWN,
    FIRST,
    INDEX,
    SECOND,
    UPSTREAM,
    UPSTREAM_GROUP,
    absorbed,
    branch_entry,
    drops,
    frame,
    group_entry,
    new_switch,
    only,
    ports,
    reset,
    stream_entry,
    with_session,
)

MEMBER = {FIRST: 3, SECOND: 4, DOWN: 0}


def ack(switch: Switch, port: int, seq: int, **fields: Any) -> list[Output]:
    member = fields.pop("member", MEMBER[port])
    return switch.run(port, frame(port, ACK, seq=seq, member=member, **fields))


def heard(outputs: list[Output]) -> int:
    """The acknowledgement that went to the sender."""
    return next(Ether(o.frame)[Group].seq for o in outputs if o.port == UPSTREAM)


def test_only_the_last_branch_to_advance_lets_it_pass(switch: Switch) -> None:
    assert ack(switch, FIRST, 10) == []
    assert ack(switch, SECOND, 20) == []
    outputs = ack(switch, DOWN, 30)
    assert ports(outputs) == [UPSTREAM, AGENT]
    assert heard(outputs) == 10
    assert (absorbed(switch), drops(switch)) == (2, {})


def test_what_goes_up_is_the_networks_and_keeps_the_stamp(switch: Switch) -> None:
    ack(switch, FIRST, 10)
    ack(switch, SECOND, 10)
    outputs = ack(switch, DOWN, 12, stamp=4242)
    group = Ether(next(o.frame for o in outputs if o.port == UPSTREAM))[Group]
    assert (group.member, group.seq, group.stamp) == (0, 10, 4242)


def test_an_older_acknowledgement_changes_nothing(switch: Switch) -> None:
    for port in (FIRST, SECOND, DOWN):
        ack(switch, port, 10)
    assert ack(switch, FIRST, 5) == []
    assert switch.register("branch_00.acked", INDEX) == 10


def test_the_same_minimum_is_not_sent_twice(switch: Switch) -> None:
    for port in (FIRST, SECOND, DOWN):
        outputs = ack(switch, port, 10)
    assert heard(outputs) == 10
    assert ack(switch, DOWN, 11) == []


def test_a_branch_that_leaves_stops_counting(switch: Switch) -> None:
    ack(switch, FIRST, 10)
    ack(switch, SECOND, 12)
    switch.write([~stream_entry(active=0b011)])
    assert heard(ack(switch, SECOND, 13)) == 10


def test_without_active_branches_nothing_goes_up(switch: Switch) -> None:
    switch.write([~stream_entry(active=0)])
    assert ack(switch, FIRST, 10, flags=FORCED, poll=1) == []


def test_a_poll_is_answered_once_even_without_progress(switch: Switch) -> None:
    for port in (FIRST, SECOND, DOWN):
        ack(switch, port, 10)
    assert heard(ack(switch, FIRST, 10, flags=FORCED, poll=1)) == 10
    assert ack(switch, SECOND, 10, flags=FORCED, poll=1) == []
    assert heard(ack(switch, SECOND, 10, flags=FORCED, poll=2)) == 10


def test_an_acknowledgement_of_nobodys_branch_is_dropped(switch: Switch) -> None:
    assert ack(switch, FIRST, 10, member=99) == []
    assert switch.run(UPSTREAM, frame(UPSTREAM, ACK, seq=10)) == []
    assert drops(switch) == {"unknown_branch": 2}


def test_the_agents_word_replaces_the_branches(switch: Switch) -> None:
    switch.write([~group_entry(ACK_GROUP, AGENT)])
    outputs = switch.run(AGENT, frame(AGENT, ACK, seq=50))
    group = only(outputs)[Group]
    assert (ports(outputs), group.seq, group.member) == ([UPSTREAM], 50, 0)
    for port in (FIRST, SECOND):
        ack(switch, port, 10)
    assert ports(ack(switch, DOWN, 10)) == [AGENT]


def test_an_agent_without_upstream_is_dropped(switch: Switch) -> None:
    switch.write([~stream_entry(upstream_group=0)])
    assert switch.run(AGENT, frame(AGENT, ACK, seq=50)) == []
    assert drops(switch) == {"no_upstream": 1}
    assert UPSTREAM_GROUP


def test_a_reset_sets_one_branch_and_tells_the_controller(switch: Switch) -> None:
    for port in (FIRST, SECOND, DOWN):
        ack(switch, port, 10)
    assert reset(switch, branch=1, seq=4) == []
    assert [(p.metadata["reason"], Ether(p.payload)[Group].member) for p in switch.packet_ins] == [(2, 1)]
    assert [switch.register(f"branch_{b:02}.acked", INDEX) for b in range(3)] == [10, 4, 10]
    assert ack(switch, FIRST, 20) == [], "the minimum is now 4, and 10 was sent already"


@pytest.mark.parametrize("member", [0x1FF, 0x101])
def test_a_reset_of_no_branch_changes_nothing(switch: Switch, member: int) -> None:
    """The lowest bits are those of ALL_BRANCHES, and of a branch."""
    for port in (FIRST, SECOND, DOWN):
        ack(switch, port, 10)
    reset(switch, branch=member, seq=4)
    assert [switch.register(f"branch_{b:02}.acked", INDEX) for b in range(3)] == [10] * 3
    assert switch.register("forwarded", INDEX) == 10


def test_a_reset_of_the_stream_forgets_what_was_forwarded(switch: Switch) -> None:
    for port in (FIRST, SECOND, DOWN):
        ack(switch, port, 10, flags=FORCED, poll=3)
    reset(switch)
    assert [switch.register(f"branch_{b:02}.acked", INDEX) for b in range(16)] == [0] * 16
    assert (switch.register("forwarded", INDEX), switch.register("answered", INDEX)) == (0, 0)
    switch.run(UPSTREAM, frame(UPSTREAM, DATA, seq=1))
    ack(switch, FIRST, 2)
    ack(switch, SECOND, 2)
    assert heard(ack(switch, DOWN, 2)) == 2


def test_an_acknowledgement_of_packets_that_were_not_sent_is_dropped(switch: Switch) -> None:
    """The attack: the only branch acknowledges the end of time, and no later acknowledgement advances."""
    switch.write([~stream_entry(active=0b001)])
    reset(switch)
    assert ack(switch, FIRST, 2**32 - 2) == [], "before the first packet"
    switch.run(UPSTREAM, frame(UPSTREAM, DATA, seq=1))
    switch.run(UPSTREAM, frame(UPSTREAM, DATA, seq=2))
    assert ack(switch, FIRST, 4) == []
    assert switch.run(AGENT, frame(AGENT, ACK, seq=4)) == []
    assert drops(switch) == {"beyond": 3}
    assert heard(ack(switch, FIRST, 3)) == 3


def test_a_poll_tells_a_switch_that_was_started_again_what_was_sent(switch: Switch) -> None:
    switch.write([~stream_entry(active=0b001)])
    reset(switch)
    assert ack(switch, FIRST, 5000) == []
    switch.run(UPSTREAM, frame(UPSTREAM, SYNC, seq=4999))
    assert heard(ack(switch, FIRST, 5000)) == 5000


@pytest.mark.parametrize("port", [FIRST, AGENT])
def test_only_the_senders_side_says_what_was_sent(switch: Switch, port: int) -> None:
    switch.write([~stream_entry(active=0b001)])
    reset(switch)
    switch.run(port, frame(port, SYNC, seq=4999))
    assert ack(switch, FIRST, 5000) == []


def test_streams_do_not_touch_each_others_registers(switch: Switch) -> None:
    ack(switch, FIRST, 10)
    assert switch.register("branch_00.acked", INDEX + 1) == 0


def test_sixteen_branches_count(bare: Switch) -> None:
    with_session(bare, active=0xFFFF)
    bare.write([+branch_entry(b, FIRST, 100 + b) for b in range(3, 16)])
    for port in (FIRST, SECOND, DOWN):
        assert ack(bare, port, 10) == []
    for branch in range(3, 15):
        assert ack(bare, FIRST, 10 + branch, member=100 + branch) == []
    assert heard(ack(bare, FIRST, 11, member=115)) == 10


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 30)), max_size=40), st.integers(1, 7))
def test_any_order_of_acknowledgements_tells_the_minimum(acks: list[tuple[int, int]], active: int) -> None:
    """Against a model: the running minimum over active branches goes up, strictly growing."""
    switch = with_session(new_switch(), active=active)
    value, told = [0, 0, 0], 0
    for branch, seq in acks:
        value[branch] = max(value[branch], seq)
        minimum = min(v for b, v in enumerate(value) if active >> b & 1)
        outputs = ack(switch, (FIRST, SECOND, DOWN)[branch], seq)
        if minimum > told:
            assert heard(outputs) == minimum
            told = minimum
        else:
            assert outputs == []


def test_an_absorbed_acknowledgement_is_no_drop_in_its_trace(switch: Switch) -> None:
    with switch.traced(), switch.traced(dropped=True):
        ack(switch, FIRST, 10)
    (trace,) = switch.traces
    assert trace["verdict"].startswith("absorbed (p4src/groupflow_v1model.p4:")
    assert not trace["dropped"]
