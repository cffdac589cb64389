"""One packet in, one copy a branch out, each addressed to its neighbour."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from groupflow.switch import Switch
from tests.support.p4.layers import DATA, REPAIR, SYNC, Group
from tests.support.p4.network import (
    AGENT,
    DATA_GROUP,
    DOWN,
    FIRST,
    GROUP_ADDRESS,
    ROUTER_MAC,
    SECOND,
    UPSTREAM,
    absorbed,
    drops,
    frame,
    group_entry,
    ip,
    mac,
    ports,
    stream_entry,
)


@pytest.mark.parametrize("kind", [DATA, SYNC, REPAIR])
def test_what_flows_down_reaches_every_branch_and_the_cache(switch: Switch, kind: int) -> None:
    assert ports(switch.run(UPSTREAM, frame(UPSTREAM, kind, seq=1))) == [AGENT, FIRST, SECOND, DOWN]


def test_a_host_gets_it_at_its_own_address(switch: Switch) -> None:
    outputs = switch.run(UPSTREAM, frame(UPSTREAM, DATA, b"hello", seq=5, stamp=77))
    copy = Ether(next(o.frame for o in outputs if o.port == FIRST))
    assert (copy.src, copy.dst) == (ROUTER_MAC, mac(FIRST))
    assert (copy[IP].src, copy[IP].dst, copy[IP].ttl) == (ip(UPSTREAM), ip(FIRST), 63)
    assert (copy[UDP].dport, copy[UDP].chksum) == (30000 + FIRST, 0)
    assert (copy[Group].seq, copy[Group].stamp, bytes(copy[Group].payload)) == (5, 77, b"hello")


def test_the_next_switch_gets_it_still_addressed_to_the_group(switch: Switch) -> None:
    outputs = switch.run(UPSTREAM, frame(UPSTREAM, DATA, b"x", seq=5))
    copy = Ether(next(o.frame for o in outputs if o.port == DOWN))
    assert copy.dst == "02:00:00:00:00:02"
    assert (copy[IP].dst, copy[UDP].dport) == (GROUP_ADDRESS, 26470)


def test_every_copy_has_right_header_checksums(switch: Switch) -> None:
    for output in switch.run(UPSTREAM, frame(UPSTREAM, DATA, b"abc", seq=5)):
        copy = Ether(output.frame)
        fresh = copy.copy()
        del fresh[IP].chksum
        del fresh[Group].checksum
        fresh = Ether(bytes(fresh))
        assert copy[IP].chksum == fresh[IP].chksum
        assert copy[Group].checksum == fresh[Group].checksum


def test_the_agent_multicasts_repairs_to_all_but_itself(switch: Switch) -> None:
    assert ports(switch.run(AGENT, frame(AGENT, REPAIR, b"r", seq=3))) == [FIRST, SECOND, DOWN]
    assert absorbed(switch) == 1


@pytest.mark.parametrize(
    ("port", "kind"), [(FIRST, DATA), (DOWN, DATA), (FIRST, REPAIR), (AGENT, DATA), (AGENT, SYNC)]
)
def test_data_from_another_port_than_upstream_is_dropped(switch: Switch, port: int, kind: int) -> None:
    assert switch.run(port, frame(port, kind, seq=1)) == []
    assert drops(switch) == {"wrong_port": 1}


def test_a_session_that_is_not_here_is_dropped(switch: Switch) -> None:
    assert switch.run(UPSTREAM, frame(UPSTREAM, DATA, session=8, dst="239.0.0.8")) == []
    assert switch.run(UPSTREAM, frame(UPSTREAM, DATA, source=2)) == []
    assert drops(switch) == {"unknown_session": 2}


def test_a_stream_nobody_wants_yet_is_absorbed(switch: Switch) -> None:
    switch.write([~stream_entry(data_group=0)])
    assert switch.run(UPSTREAM, frame(UPSTREAM, DATA)) == []
    assert (absorbed(switch), drops(switch)) == (1, {})


def test_a_branch_that_left_gets_no_copy(switch: Switch) -> None:
    switch.write([~group_entry(DATA_GROUP, AGENT, SECOND, DOWN)])
    assert ports(switch.run(UPSTREAM, frame(UPSTREAM, DATA))) == [AGENT, SECOND, DOWN]


def test_two_neighbours_on_one_port_get_a_copy_each(switch: Switch) -> None:
    import finsy as fy

    second = fy.P4TableEntry(
        "neighbours",
        match=fy.P4TableMatch({"instance": 60}),
        action=fy.P4TableAction("to_host", src=ROUTER_MAC, dst=mac(FIRST), ip=ip(FIRST), port=40000),
    )
    group = fy.P4MulticastGroupEntry(DATA_GROUP, replicas=[(FIRST, FIRST), (FIRST, 60)])
    switch.write([+second, ~group])
    outputs = switch.run(UPSTREAM, frame(UPSTREAM, DATA))
    assert sorted((o.port, Ether(o.frame)[UDP].dport) for o in outputs) == [
        (FIRST, 30000 + FIRST),
        (FIRST, 40000),
    ]
