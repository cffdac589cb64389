"""Unicast IPv4 and ARP."""

from __future__ import annotations

import finsy as fy
import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

from groupflow.switch import Switch
from tests.support.p4.network import (
    ROUTER_MAC,
    absorbed,
    admit_entry,
    drops,
    ip,
    mac,
    only,
    ports,
    route_entry,
)


@pytest.fixture
def router(bare: Switch) -> Switch:
    bare.write(
        [
            +admit_entry(),
            +route_entry(f"{ip(2)}/32", 2),
            +route_entry("10.0.0.0/24", 3),
            +fy.P4TableEntry(
                "arp_responder",
                match=fy.P4TableMatch({"target_ip": ip(2)}),
                action=fy.P4TableAction("arp_reply", mac=ROUTER_MAC),
            ),
        ]
    )
    return bare


def packet(dst: str, inner: Packet, **fields: int) -> Packet:
    return Ether(src=mac(1), dst=ROUTER_MAC) / IP(src=ip(1), dst=dst, **fields) / inner / Raw(b"data")


@pytest.mark.parametrize("inner", [TCP(dport=5201), UDP(dport=5201), ICMP()], ids=["tcp", "udp", "icmp"])
def test_unicast_is_routed(router: Switch, inner: Packet) -> None:
    sent = packet(ip(2), inner)
    outputs = router.run(1, sent)
    got = only(outputs)
    assert ports(outputs) == [2]
    assert (got.src, got.dst, got[IP].ttl) == (ROUTER_MAC, mac(2), 63)
    assert bytes(got[IP].payload) == bytes(Ether(bytes(sent))[IP].payload)


def test_the_longest_prefix_wins(router: Switch) -> None:
    assert ports(router.run(1, packet(ip(9), ICMP()))) == [3]


def test_a_fragment_is_routed_by_its_address(router: Switch) -> None:
    assert ports(router.run(1, packet(ip(2), UDP(), frag=100))) == [2]


def test_what_has_no_route_is_dropped(router: Switch) -> None:
    assert router.run(1, packet("192.0.2.1", ICMP())) == []
    assert drops(router) == {"no_route": 1}


@pytest.mark.parametrize("ttl", [0, 1])
def test_a_worn_out_packet_is_dropped(router: Switch, ttl: int) -> None:
    assert router.run(1, packet(ip(2), ICMP(), ttl=ttl)) == []
    assert drops(router) == {"ttl": 1}


def test_a_frame_for_another_station_is_dropped(router: Switch) -> None:
    sent = packet(ip(2), ICMP())
    sent.dst = mac(7)
    assert router.run(1, sent) == []
    assert drops(router) == {"not_for_us": 1}


def test_arp_is_answered_for_known_addresses(router: Switch) -> None:
    ask = Ether(src=mac(1), dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=mac(1), psrc=ip(1), pdst=ip(2))
    outputs = router.run(1, ask)
    answer = only(outputs)
    assert ports(outputs) == [1]
    assert (answer.dst, answer.src) == (mac(1), ROUTER_MAC)
    fields = answer[ARP]
    assert (fields.op, fields.hwsrc, fields.psrc, fields.hwdst, fields.pdst) == (
        2,
        ROUTER_MAC,
        ip(2),
        mac(1),
        ip(1),
    )


@pytest.mark.parametrize(
    ("op", "source", "asked"),
    [(1, ip(1), "192.0.2.9"), (2, ip(1), ip(2))],
    ids=["unknown address", "a reply"],
)
def test_other_arp_is_dropped(router: Switch, op: int, source: str, asked: str) -> None:
    assert router.run(1, Ether(src=mac(1)) / ARP(op=op, hwsrc=mac(1), psrc=source, pdst=asked)) == []
    assert drops(router) == {"no_arp": 1}


def test_arp_of_the_controllers_is_dropped(router: Switch) -> None:
    """An answer would leave by the controller's port without the header of a packet-in."""
    asked = Ether(src=mac(1)) / ARP(op=1, hwsrc=mac(1), psrc=ip(1), pdst=ip(2))
    router.packet_out(asked, egress_port=0, inject=1, padding=0)
    assert router.advance(0) == router.packet_ins == []
    assert drops(router) == {"no_arp": 1}


def test_an_announcement_of_ones_own_address_is_not_answered(router: Switch) -> None:
    assert router.run(1, Ether(src=mac(1)) / ARP(op=1, hwsrc=mac(1), psrc=ip(2), pdst=ip(2))) == []
    assert (absorbed(router), drops(router)) == (1, {})
