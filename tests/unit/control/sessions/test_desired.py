"""Desired entries of switches, as pure functions; and updates from a difference."""

import random
from ipaddress import IPv4Network

import pytest

from groupflow.control.sessions.desired import (
    KEEPALIVES,
    REQUESTS,
    guard_entries,
    stream_entries,
    unicast_entries,
)
from groupflow.control.sessions.model import Member, RefusalError, Session, SessionRecord
from groupflow.control.sessions.numbers import MAX_NEIGHBOURS, Stream, SwitchNumbers, next_free
from groupflow.control.sessions.replication import Branch, Neighbour, Node, stream_tree
from groupflow.files.topology import parse
from groupflow.p4rt.entries import DELETE, INSERT, MODIFY, PUNT_METER, Action, Entries, Key, Replicas, action
from groupflow.p4rt.program import Room
from groupflow.p4rt.reconcile import ALL_BRANCHES, DesiredState, Reset, plan
from tests.support.world import TOPOLOGY

TOPO = parse(TOPOLOGY)


def session(*members: tuple[str, str], isolated: frozenset[tuple[int, int]] = frozenset()) -> Session:
    policy = "isolate" if isolated else "strict"
    record = SessionRecord(id=7, policy=policy, salt="00", created=0, isolated=isolated)
    return Session(
        record,
        {
            number: Member(7, number, host, "sender" if role == "s" else "receiver", host, 5000, 0)
            for number, (host, role) in enumerate(members, 1)
        },
    )


def test_unicast_entries_route_every_host_and_answer_for_every_gateway() -> None:
    entries = unicast_entries(TOPO, "s2")
    mac = 0x020000000002
    assert entries[Key("l3_admit", (mac,))] == action("admit_to_l3")
    assert entries[Key("ipv4_route", (0x0A000201, 32))] == action(
        "route", port=2, src=mac, dst=0x02000A000201
    )
    assert entries[Key("ipv4_route", (0x0A000101, 32))] == action(
        "route", port=1, src=mac, dst=0x020000000001
    )
    assert entries[Key("ipv4_route", (0x0A000301, 32))] == action(
        "route", port=3, src=mac, dst=0x020000000003
    )
    answered = {key.match[0] for key in entries if key.table == "arp_responder"}
    assert answered == {int(ip) for host in TOPO.hosts.values() for ip in (host.ip, host.gateway)}


def test_guard_entries_bind_each_host_to_its_port() -> None:
    prefix = IPv4Network("10.200.0.0/16")
    entries = guard_entries(TOPO, "s1", prefix)
    assert {key.match[0]: value for key, value in entries.items() if key.table == "port_sources"} == {
        1: action("host", mac=0x02000A000101, ip=0x0A000101),
        2: action("host", mac=0x02000A000102, ip=0x0A000102),
        4: action("agent", mac=0x02000A006501, ip=0x0A006501, sessions=0x0AC80000, mask=0xFFFF0000),
    }
    no_agent = guard_entries(TOPO, "s3", prefix)
    (host,) = (value for key, value in no_agent.items() if key.table == "port_sources")
    assert host == action("host", mac=0x02000A000301, ip=0x0A000301)


def test_each_port_has_rates_of_messages_to_the_controller() -> None:
    entries = guard_entries(TOPO, "s1", IPv4Network("10.200.0.0/16"))
    rates = {key.match[0]: value for key, value in entries.items() if key.table == PUNT_METER}
    expected = {2 * port: REQUESTS for port in TOPO.switches["s1"].ports}
    assert rates == expected | {cell + 1: KEEPALIVES for cell in expected}


def test_the_tree_of_a_stream_has_only_switches_with_receivers_below() -> None:
    tree = stream_tree(TOPO, session(("h1", "s"), ("h2", "r"), ("h4", "r")), 1, {})
    assert tree["s1"].branches == (Branch(Neighbour("h2", 5000), 2), Branch(Neighbour("s2"), 0))
    assert tree["s2"] == Node("s2", Neighbour("s1"), (Branch(Neighbour("s3"), 0),), None)
    assert set(stream_tree(TOPO, session(("h1", "s"), ("h3", "r")), 1, {})) == {"s1", "s2"}
    assert set(stream_tree(TOPO, session(("h1", "s")), 1, {})) == {"s1"}


def test_a_receiver_that_cannot_be_reached_is_refused() -> None:
    island = parse(TOPOLOGY.replace("  - {ends: [s2, s3]}\n", ""))
    with pytest.raises(RefusalError, match="no path from h1 to h4"):
        stream_tree(island, session(("h1", "s"), ("h4", "r")), 1, {})


def test_an_isolated_branch_counts_but_gets_no_copy() -> None:
    agents = {"s1": Neighbour("c1", 6000)}
    tree = stream_tree(TOPO, session(("h1", "s"), ("h2", "r"), isolated=frozenset({(1, 2)})), 1, agents)
    numbers = SwitchNumbers("s1", Room()).assign(Stream(7, 1), tree["s1"])
    entries = stream_entries(TOPO, tree["s1"], Stream(7, 1), numbers, "e2e", "isolate")
    value = entries[Key("streams", (7, 1))]
    assert isinstance(value, Action)
    assert entries[Key("groups", (value.params["data_group"],))] == Replicas(
        frozenset({(4, numbers.neighbours[agents["s1"]])})
    )
    assert value.params["active"] == 1


def test_what_is_desired_after_changes_is_what_is_desired_at_once() -> None:
    """Random joins and leaves, against the same streams computed from nothing."""
    choose = random.Random(3)
    numbers, state = SwitchNumbers("s1", Room()), DesiredState()
    members: dict[int, dict[tuple[str, int], int]] = {1: {}, 2: {}, 3: {}}
    for _ in range(300):
        number = choose.choice((1, 2, 3))
        receivers = members[number]
        if receivers and choose.random() < 0.45:
            del receivers[choose.choice(list(receivers))]
        elif len(receivers) < 16:
            receivers[choose.choice(("h2", "h1")), choose.randrange(5000, 5040)] = choose.randrange(2, 9999)
        branches = tuple(Branch(Neighbour(*who), member) for who, member in receivers.items())
        node = Node("s1", Neighbour("h1", 4000 + number), branches, None)
        stream = Stream(number, 1)
        entries = stream_entries(TOPO, node, stream, numbers.assign(stream, node), "e2e", "strict")
        for key in state.replace(stream, entries):
            if key.table == "neighbours":
                numbers.release_neighbour(key.match[0])
    expected: Entries = {}
    for number, receivers in members.items():
        branches = tuple(Branch(Neighbour(*who), member) for who, member in receivers.items())
        node = Node("s1", Neighbour("h1", 4000 + number), branches, None)
        stream = Stream(number, 1)
        expected |= stream_entries(TOPO, node, stream, numbers.assign(stream, node), "e2e", "strict")
    assert state.entries == expected
    installed: Entries = {}
    for change in (step := plan(installed, state.entries, state.take_changes())).first + step.then:
        assert change.value is not None
        installed[change.key] = change.value
    assert installed == expected


def entry(active: int, index: int = 4) -> Action:
    return action("stream", index=index, data_group=index + 1, upstream_group=0x2001, active=active)


STREAM, GROUP = Key("streams", (7, 1)), Key("groups", (5,))
BRANCH_2, BRANCH_3 = Key("branches", (7, 1, 2, 2)), Key("branches", (7, 1, 3, 3))


def test_a_new_stream_is_reset_whole_before_its_branches_count() -> None:
    wanted: Entries = {
        STREAM: entry(0b11),
        GROUP: Replicas(frozenset({(2, 1)})),
        BRANCH_2: action("from_branch", branch=0),
    }
    first, resets, then = plan({}, wanted, wanted)
    assert [(c.kind, c.key, c.value) for c in first] == [
        (INSERT, GROUP, wanted[GROUP]),
        (INSERT, STREAM, entry(0)),
    ]
    assert resets == [Reset(7, 1, ALL_BRANCHES)]
    assert [(c.kind, c.key, c.value) for c in then] == [
        (MODIFY, STREAM, entry(0b11)),
        (INSERT, BRANCH_2, wanted[BRANCH_2]),
    ]


def test_a_new_branch_is_reset_alone() -> None:
    installed: Entries = {STREAM: entry(0b01), BRANCH_2: action("from_branch", branch=0)}
    wanted = {**installed, STREAM: entry(0b11), BRANCH_3: action("from_branch", branch=1)}
    first, resets, then = plan(installed, wanted, wanted)
    assert (first, resets) == ([], [Reset(7, 1, 1)])
    assert [(c.kind, c.key) for c in then] == [(MODIFY, STREAM), (INSERT, BRANCH_3)]


def test_a_branch_that_leaves_goes_first_and_its_number_is_reset_for_the_next() -> None:
    installed: Entries = {STREAM: entry(0b01), BRANCH_2: action("from_branch", branch=0)}
    wanted: Entries = {STREAM: entry(0b01), BRANCH_3: action("from_branch", branch=0)}
    first, resets, then = plan(installed, wanted, {*installed, *wanted})
    assert [(c.kind, c.key) for c in first] == [(DELETE, BRANCH_2)]
    assert resets == [Reset(7, 1, 0)]
    assert [(c.kind, c.key) for c in then] == [(INSERT, BRANCH_3)]


def test_a_stream_that_moves_to_other_registers_is_new() -> None:
    installed: Entries = {STREAM: entry(1)}
    first, resets, then = plan(installed, {STREAM: entry(1, index=9)}, [STREAM])
    assert [(c.kind, c.value) for c in first] == [(MODIFY, entry(0, index=9))]
    assert resets == [Reset(7, 1, ALL_BRANCHES)]
    assert [(c.kind, c.value) for c in then] == [(MODIFY, entry(1, index=9))]


def test_what_is_right_is_left_alone_and_what_goes_goes_in_order() -> None:
    installed: Entries = {
        Key("neighbours", (1,)): action("to_switch", src=1, dst=2),
        GROUP: Replicas(frozenset({(2, 1)})),
        STREAM: entry(1),
        BRANCH_2: action("from_branch", branch=0),
    }
    assert plan(installed, installed, installed) == ([], [], [])
    first, resets, then = plan(installed, {}, installed)
    assert [c.key.table for c in first + then] == ["branches", "streams", "groups", "neighbours"]
    assert not resets


def test_numbers_go_round() -> None:
    assert [next_free(last, 1, 4, {2}) for last in (0, 1, 2, 4)] == [1, 3, 3, 1]
    assert next_free(0, 1, 2, {1, 2}) is None


def test_a_released_number_is_used_again_late() -> None:
    numbers = SwitchNumbers("s1", Room())
    node = Node("s1", Neighbour("h1", 5000), (), None)
    indices: list[int] = []
    for session_id in range(1, 6):
        indices.append(numbers.assign(Stream(session_id, 1), node).index)
        numbers.release_stream(Stream(session_id, 1))
    assert indices == [0, 1, 2, 3, 4]


def test_a_switch_that_is_full_says_of_what() -> None:
    numbers = SwitchNumbers("s1", Room(streams=3, branches=2))
    node = Node("s1", Neighbour("h1", 5000), (), None)
    assert [numbers.assign(Stream(number, 1), node).index for number in (1, 2, 3)] == [0, 1, 2]
    numbers.check(Stream(1, 1), node)
    with pytest.raises(RefusalError, match="switch s1 has 3 streams"):
        numbers.check(Stream(4, 1), node)
    branches = tuple(Branch(Neighbour(f"h{number}", 5000), number, False) for number in (2, 3, 4))
    assert [*numbers.assign(Stream(1, 1), node._replace(branches=branches[:2])).branches.values()] == [0, 1]
    with pytest.raises(RefusalError, match="switch s1 has 2 branches in this stream"):
        numbers.check(Stream(1, 1), node._replace(branches=branches))
    assert MAX_NEIGHBOURS < 1 << 14


def test_an_entry_of_two_owners_stays_until_both_gave_it_up() -> None:
    state = DesiredState()
    shared: Entries = {Key("neighbours", (1,)): action("to_switch", src=1, dst=2)}
    state.replace("one", shared)
    state.replace("two", shared)
    assert state.replace("one", {}) == []
    assert state.entries == shared
    assert state.replace("two", {}) == list(shared)
    assert state.entries == {}
