"""Repair requests: to the nearest cache, and from it towards the sender."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from groupflow.switch import Switch
from tests.support.p4.layers import DATA, GROUP_PORT, NACK, REPAIR, REPLY, SYNC, Group
from tests.support.p4.network import (
    AGENT,
    DOWN,
    FIRST,
    ROUTER_MAC,
    SECOND,
    UPSTREAM,
    admit_entry,
    drops,
    frame,
    ip,
    only,
    ports,
    route_entry,
    stream_entry,
)


def test_a_request_goes_to_the_cache_agent_with_its_asker(switch: Switch) -> None:
    outputs = switch.run(FIRST, frame(FIRST, NACK, b"\0\0\0\1", seq=1))
    packet = only(outputs)
    assert ports(outputs) == [AGENT]
    assert (packet[IP].src, packet[IP].dst, packet[Group].member) == (ip(FIRST), ip(AGENT), FIRST)


def test_what_the_agent_lacks_goes_on_to_the_sender(switch: Switch) -> None:
    outputs = switch.run(AGENT, frame(AGENT, NACK, seq=1))
    assert ports(outputs) == [UPSTREAM]
    assert only(outputs)[Group].member == 0


def test_without_an_agent_requests_go_to_the_sender(switch: Switch) -> None:
    switch.write([~stream_entry(repair_group=0, agent_port=0)])
    assert ports(switch.run(DOWN, frame(DOWN, NACK, member=0))) == [UPSTREAM]


def test_a_request_of_a_stranger_is_dropped(switch: Switch) -> None:
    assert switch.run(SECOND, frame(SECOND, NACK, member=77)) == []
    assert drops(switch) == {"unknown_branch": 1}


@pytest.mark.parametrize(("kind", "passes"), [(REPAIR, True), (SYNC, True), (DATA, False), (REPLY, False)])
def test_only_a_caches_words_go_from_host_to_host(switch: Switch, kind: int, passes: bool) -> None:
    switch.write([+admit_entry(), +route_entry(f"{ip(FIRST)}/32", FIRST)])
    packet = frame(AGENT, kind, b"r", dst=ip(FIRST), seq=3)
    packet[Ether].dst = ROUTER_MAC
    packet[UDP].sport, packet[UDP].dport = GROUP_PORT, 40000
    outputs = switch.run(AGENT, packet)
    assert ports(outputs) == ([FIRST] if passes else [])
    assert all(Ether(output.frame)[IP].dst == ip(FIRST) for output in outputs)
