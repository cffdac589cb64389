"""Unicast, ARP, refused TCP connections, the guard, and frames that are not whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import finsy as fy
import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

from tests.conformance.process_switch import RemoteSwitch
from tests.ptf.cases import CONTROLLER, Case, Counted, Frame, Target, guarded, routed, run, session
from tests.support.p4.layers import DATA, GROUP_PORT, NACK, REPAIR, REPLY, SYNC, Group
from tests.support.p4.network import (
    AGENT,
    DOWN,
    FIRST,
    ROUTER_MAC,
    SECOND,
    UPSTREAM,
    admit_entry,
    frame,
    ip,
    mac,
    route_entry,
)

UNSERVED = "10.200.3.9"
SEQ, ACKED = 0xFFFF_FFFE, 0x1234_5678


def router(switch: RemoteSwitch) -> None:
    """Routes to a host and to a prefix, ARP for a host, and addresses of TCP sessions, refused but one."""
    refused = fy.P4TableMatch({"ipv4_dst": "10.200.0.0/16"})
    answer = fy.P4TableAction("arp_reply", mac=ROUTER_MAC)
    asked = fy.P4TableMatch({"target_ip": ip(AGENT)})
    switch.write(
        [
            +admit_entry(),
            +route_entry(f"{ip(AGENT)}/32", AGENT),
            +route_entry("10.0.0.0/24", FIRST),
            +route_entry("10.200.0.1/32", AGENT),
            +fy.P4TableEntry("ipv4_route", match=refused, action=fy.P4TableAction("refuse")),
            +fy.P4TableEntry("arp_responder", match=asked, action=answer),
        ]
    )


def unicast(port: int, inner: Packet, to: str, source: str | None = None, **fields: int) -> Packet:
    return Ether(src=mac(port), dst=ROUTER_MAC) / IP(src=source or ip(port), dst=to, **fields) / inner


def passes(port: int, packet: Packet, to: int) -> Frame:
    return Frame(port, packet, out=(routed(packet, to),))


def sent(inner: Packet, to: str = ip(AGENT), **fields: Any) -> Packet:
    return unicast(UPSTREAM, inner / Raw(b"data" * 10), to, **fields)


def arp(op: int, source: str, asked: str, **fields: int) -> Packet:
    return Ether(src=mac(UPSTREAM), dst="ff:ff:ff:ff:ff:ff") / ARP(
        op=op, hwsrc=mac(UPSTREAM), psrc=source, pdst=asked, **fields
    )


ANSWER = Ether(src=ROUTER_MAC, dst=mac(UPSTREAM)) / ARP(
    op=2, hwsrc=ROUTER_MAC, psrc=ip(AGENT), hwdst=mac(UPSTREAM), pdst=ip(UPSTREAM)
)
OTHER_STATION = sent(ICMP())
OTHER_STATION.dst = mac(7)
ABSORBED = fy.P4CounterEntry("absorbed", index=0)
FORWARDING = {
    "TCP": (passes(UPSTREAM, sent(TCP(dport=5201)), AGENT),),
    "UDP": (passes(UPSTREAM, sent(UDP(dport=5201)), AGENT),),
    "ICMP": (passes(UPSTREAM, sent(ICMP()), AGENT),),
    "by the shorter prefix": (passes(UPSTREAM, sent(ICMP(), ip(99)), FIRST),),
    "a later fragment": (passes(UPSTREAM, sent(ICMP(), frag=100), AGENT),),
    "1,514 bytes": (
        passes(UPSTREAM, unicast(UPSTREAM, UDP(dport=5201) / Raw(bytes(1472)), ip(AGENT)), AGENT),
    ),
    "without a route": (Frame(UPSTREAM, sent(ICMP(), "192.0.2.1"), drop="no_route"),),
    "TTL 1": (Frame(UPSTREAM, sent(ICMP(), ttl=1), drop="ttl"),),
    "TTL 0": (Frame(UPSTREAM, sent(ICMP(), ttl=0), drop="ttl"),),
    "to another station": (Frame(UPSTREAM, OTHER_STATION, drop="not_for_us"),),
    "ARP for a host": (Frame(UPSTREAM, arp(1, ip(UPSTREAM), ip(AGENT)), out=((UPSTREAM, ANSWER),)),),
    "ARP for nobody": (Frame(UPSTREAM, arp(1, ip(UPSTREAM), "192.0.2.9"), drop="no_arp"),),
    "an ARP reply": (Frame(UPSTREAM, arp(2, ip(UPSTREAM), ip(AGENT)), drop="no_arp"),),
    "ARP of the controller's": (Frame(CONTROLLER, arp(1, ip(UPSTREAM), ip(AGENT)), drop="no_arp"),),
    "an ARP announcement": (Frame(UPSTREAM, arp(1, ip(AGENT), ip(AGENT))), Counted(ABSORBED, 1)),
    "an ARP probe": (Frame(UPSTREAM, arp(1, "0.0.0.0", ip(AGENT))), Counted(ABSORBED, 1)),
}


def segment(flags: str, payload: bytes = b"", to: str = UNSERVED, **fields: object) -> Packet:
    tcp = TCP(sport=40001, dport=5000, flags=flags, seq=SEQ, ack=ACKED, **fields)
    return unicast(UPSTREAM, tcp / Raw(payload), to, ttl=7, tos=0x2E, id=99)


def refused(asked: Packet, seq: int, ack: int, flags: str) -> tuple[Frame, Counted]:
    """The reset that a segment becomes: what followed its header stays behind it, as padding."""
    outer = IP(src=UNSERVED, dst=ip(UPSTREAM), ttl=64, flags="DF", id=0)
    tcp = TCP(sport=5000, dport=40001, flags=flags, seq=seq, ack=ack % 2**32, window=0)
    reset = bytes(Ether(src=ROUTER_MAC, dst=mac(UPSTREAM)) / outer / tcp)
    answer = reset + bytes(asked)[len(reset) :]
    return Frame(UPSTREAM, asked, out=((UPSTREAM, answer),)), Counted(
        fy.P4CounterEntry("refusals", index=UPSTREAM), 1
    )


REFUSAL = {
    "SYN": refused(segment("S"), 0, SEQ + 1, "RA"),
    "SYN with options": refused(
        segment("S", options=[("MSS", 1460), ("NOP", None), ("WScale", 7)]), 0, SEQ + 1, "RA"
    ),
    "SYN with data": refused(segment("S", b"x" * 100), 0, SEQ + 1, "RA"),
    "SYN and FIN": refused(segment("SF"), 0, SEQ + 1, "RA"),
    "ACK": refused(segment("A"), ACKED, 0, "R"),
    "data with ACK": refused(segment("PA", b"x" * 1400), ACKED, 0, "R"),
    "SYN and ACK": refused(segment("SA"), ACKED, 0, "R"),
    "RST": (Frame(UPSTREAM, segment("R")), Counted(ABSORBED, 1)),
    "neither SYN nor ACK": (Frame(UPSTREAM, segment("F")), Counted(ABSORBED, 1)),
    "no TCP": (Frame(UPSTREAM, unicast(UPSTREAM, UDP() / Raw(bytes(30)), UNSERVED), drop="refused"),),
    "a fragment": (
        Frame(
            UPSTREAM, unicast(UPSTREAM, TCP(flags="S") / Raw(bytes(30)), UNSERVED, flags=1), drop="refused"
        ),
    ),
    "the controller's": (Frame(CONTROLLER, segment("S"), drop="refused"),),
    "a short TCP header": (Frame(UPSTREAM, segment("S", dataofs=4), drop="malformed"),),
    "a served session": (passes(UPSTREAM, segment("S", to="10.200.0.1"), AGENT),),
}
MEMBER_PORT = 30000 + SECOND


def group(kind: int, payload: bytes = b"forged") -> bytes:
    return bytes(Group(type=kind, session=7, source=1, seq=3) / Raw(payload))


def word(port: int, kind: int) -> Packet:
    """A group packet to the second receiver's own address."""
    return unicast(port, UDP(sport=GROUP_PORT, dport=MEMBER_PORT) / Raw(group(kind)), ip(SECOND))


def datagram(payload: bytes) -> Packet:
    return unicast(FIRST, UDP(sport=1234, dport=MEMBER_PORT) / Raw(payload), ip(SECOND))


def first_fragment(size: int, sport: int = 1234) -> Packet:
    data = bytes(UDP(sport=sport, dport=MEMBER_PORT, chksum=0, len=1032) / Raw(group(REPLY, bytes(1000))))
    return unicast(FIRST, Raw(data[:size]), ip(SECOND), proto=17, flags=1)


def later_fragment(place: int) -> Packet:
    return unicast(FIRST, Raw(bytes(100)), ip(SECOND), proto=17, frag=place)


REQUEST = Ether(src=mac(FIRST)) / frame(FIRST, NACK, bytes.fromhex("000000010000000100000400"))[IP]
REQUEST[IP].src = ip(SECOND)
FOREIGN_MAC = unicast(FIRST, ICMP(), ip(SECOND))
FOREIGN_MAC.src = mac(SECOND)
NEAR_MAC = unicast(FIRST, ICMP(), ip(SECOND))
NEAR_MAC.src = mac(FIRST).replace("02:00", "02:01", 1)
ARP_OF_ANOTHER = Ether(src=mac(FIRST)) / ARP(op=1, hwsrc=mac(FIRST), psrc=ip(SECOND), pdst=ip(UPSTREAM))
GUARD = {
    **{
        f"{name} is spoofed": (Frame(FIRST, packet, drop="spoofed"),)
        for name, packet in (
            ("another's address", unicast(FIRST, ICMP(), ip(SECOND), ip(UPSTREAM))),
            ("nobody's address", unicast(FIRST, TCP(), ip(SECOND), "192.0.2.1")),
            ("another's MAC", FOREIGN_MAC),
            ("a MAC of one other bit", NEAR_MAC),
            ("another's ARP", ARP_OF_ANOTHER),
            ("another's request for repairs", REQUEST),
        )
    },
    "one's own address": (passes(FIRST, unicast(FIRST, ICMP(), ip(SECOND)), SECOND),),
    "a switch's words of anybody": (passes(DOWN, unicast(DOWN, TCP(), ip(SECOND), "192.0.2.1"), SECOND),),
    "an agent's words of a session": (
        passes(AGENT, unicast(AGENT, TCP(), ip(SECOND), "10.200.3.4"), SECOND),
        Frame(FIRST, unicast(FIRST, TCP(), ip(SECOND), "10.200.3.4"), drop="spoofed"),
    ),
    "repairs of a host": (Frame(FIRST, word(FIRST, REPAIR), drop="not_agent"),),
    "a poll of a host": (Frame(FIRST, word(FIRST, SYNC), drop="not_agent"),),
    "repairs of the agent": (passes(AGENT, word(AGENT, REPAIR), SECOND),),
    "a poll of a switch": (passes(DOWN, word(DOWN, SYNC), SECOND),),
    "data to one host": (Frame(AGENT, word(AGENT, DATA), drop="not_controller"),),
    "a group header behind other ports": (Frame(FIRST, datagram(group(REPLY)), drop="foreign_group"),),
    "a DNS query": (
        passes(
            FIRST,
            datagram(bytes.fromhex("010501000001000000000000 07") + b"example\x03com\0\0\x01\0\x01"),
            SECOND,
        ),
    ),
    "another checksum": (passes(FIRST, datagram(group(REPLY)[:22] + bytes(2) + b"data"), SECOND),),
    "zeroes": (passes(FIRST, datagram(bytes(1000)), SECOND),),
    "a group header in a fragment": (
        Frame(FIRST, first_fragment(400, GROUP_PORT), drop="fragment"),
        Frame(FIRST, first_fragment(400), drop="foreign_group"),
        Frame(FIRST, first_fragment(32), drop="fragment"),
    ),
    "a fragment over a header": tuple(
        Frame(FIRST, later_fragment(place), drop="fragment") for place in (1, 2, 3)
    ),
    "a fragment behind headers": (passes(FIRST, later_fragment(4), SECOND),),
}


def damaged(change: Callable[[Packet], object]) -> Packet:
    packet = frame(UPSTREAM, DATA, b"payload", seq=1)
    change(packet)
    return packet


def flipped(offset: int) -> bytes:
    data = bytearray(bytes(frame(UPSTREAM, DATA, b"payload", seq=1)))
    data[offset] ^= 1
    return bytes(data)


WRONG: dict[str, tuple[Packet | bytes, str]] = {
    "an IPv4 checksum": (flipped(15), "checksum"),
    "a group checksum": (flipped(54), "checksum"),
    "a cut group header": (bytes(frame(UPSTREAM, DATA))[:60], "malformed"),
    "a cut payload": (bytes(frame(UPSTREAM, DATA, b"payload"))[:-1], "malformed"),
    "a group's version": (damaged(lambda p: setattr(p[Group], "version", 2)), "malformed"),
    "a group's length": (damaged(lambda p: setattr(p[Group], "length", 8)), "malformed"),
    "a group's length that wraps": (damaged(lambda p: setattr(p[Group], "length", 0xFFFF)), "malformed"),
    "UDP's length": (damaged(lambda p: setattr(p[UDP], "len", 20)), "malformed"),
    "another session's address": (damaged(lambda p: setattr(p[IP], "dst", "239.0.0.8")), "malformed"),
    "IPv4's length": (damaged(lambda p: setattr(p[IP], "len", 2000)), "malformed"),
    "IPv4's length below its header": (damaged(lambda p: setattr(p[IP], "len", 10)), "malformed"),
    "IPv4's version": (damaged(lambda p: setattr(p[IP], "version", 5)), "malformed"),
    "IPv4 with options": (
        Ether(dst=ROUTER_MAC) / IP(dst=ip(AGENT), options=[IPOption_NOP()] * 8) / UDP() / Raw(bytes(30)),
        "unknown_protocol",
    ),
    "IPv6": (Ether() / IPv6() / UDP(), "unknown_protocol"),
    "an unknown EtherType": (Ether(type=0x88CC) / Raw(b"lldp" * 12), "unknown_protocol"),
    "ARP of other hardware": (arp(1, ip(UPSTREAM), ip(AGENT), hwtype=6), "malformed"),
    "a group's address alone": (
        Ether(dst="01:00:5e:00:00:07") / IP(dst="239.0.0.7") / UDP(sport=9, dport=9) / Raw(bytes(30)),
        "not_for_us",
    ),
}
CASES = {
    **{f"forwarding: {name}": Case(router, steps) for name, steps in FORWARDING.items()},
    **{f"refusal: {name}": Case(router, steps) for name, steps in REFUSAL.items()},
    **{f"guard: {name}": Case(guarded, steps) for name, steps in GUARD.items()},
    **{
        f"validation: {name}": Case(session, (Frame(UPSTREAM, packet, drop=reason),))
        for name, (packet, reason) in WRONG.items()
    },
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_unicast(target: Target, case: Case) -> None:
    run(target, case)
