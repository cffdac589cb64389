"""Attacks of a host on others, and what the guard lets pass."""

from __future__ import annotations

from collections.abc import Callable

import finsy as fy
import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

from groupflow.control.sessions.desired import KEEPALIVES, REQUESTS
from groupflow.p4rt.entries import Rate
from groupflow.switch import Switch
from tests.support.p4 import network
from tests.support.p4.diffusion import ANSWER, PROBE, feedback
from tests.support.p4.layers import (
    DATA,
    GROUP_PORT,
    JOIN,
    KEEPALIVE,
    NACK,
    REPAIR,
    REPLY,
    REPORT,
    SYNC,
    Group,
)
from tests.support.p4.network import (
    AGENT,
    DOWN,
    FIRST,
    ROUTER_MAC,
    SECOND,
    UPSTREAM,
    absorbed,
    drops,
    frame,
    ip,
    mac,
    ports,
)

MEMBER_PORT = 30000 + SECOND
"""the UDP port at which the second receiver listens"""


@pytest.fixture
def guarded(switch: Switch) -> Switch:
    return network.guarded(switch)


def unicast(port: int, inner: Packet, to: int = SECOND, source: str | None = None) -> Packet:
    return Ether(src=mac(port), dst=ROUTER_MAC) / IP(src=source or ip(port), dst=ip(to)) / inner


def group(kind: int, payload: bytes = b"forged", **fields: int) -> bytes:
    return bytes(Group(type=kind, session=7, source=1, **fields) / Raw(payload))


@pytest.mark.parametrize("kind", [REPAIR, SYNC])
def test_a_host_injects_no_data_into_a_receiver(guarded: Switch, kind: int) -> None:
    packet = unicast(FIRST, UDP(sport=GROUP_PORT, dport=MEMBER_PORT) / Raw(group(kind, seq=3)))
    assert guarded.run(FIRST, packet) == []
    assert drops(guarded) == {"not_agent": 1}


@pytest.mark.parametrize("kind", [REPAIR, SYNC])
@pytest.mark.parametrize("port", [AGENT, DOWN])
def test_agents_and_switches_repair(guarded: Switch, kind: int, port: int) -> None:
    packet = unicast(port, UDP(sport=GROUP_PORT, dport=MEMBER_PORT) / Raw(group(kind, seq=3)))
    assert ports(guarded.run(port, packet)) == [SECOND]


SPOOFED: dict[str, Callable[[], Packet]] = {
    "IPv4 to a host": lambda: unicast(FIRST, ICMP(), source=ip(UPSTREAM)),
    "IPv4 of nobody": lambda: unicast(FIRST, TCP(), source="192.0.2.1"),
    "a gateway's": lambda: unicast(FIRST, UDP(dport=MEMBER_PORT), source="10.0.0.254"),
    "Ethernet": lambda: Ether(src=mac(SECOND), dst=ROUTER_MAC) / IP(src=ip(FIRST), dst=ip(SECOND)) / ICMP(),
    "ARP": lambda: Ether(src=mac(FIRST)) / ARP(op=1, hwsrc=mac(FIRST), psrc=ip(SECOND), pdst=ip(UPSTREAM)),
    "a request for repairs": lambda: Ether(src=mac(FIRST)) / spoofed_request(),
}


def spoofed_request() -> Packet:
    """80 bytes that make the cache send 1,024 packets to the second receiver."""
    packet = frame(FIRST, NACK, bytes.fromhex("00000001 00000001 00000400"), member=FIRST)[IP]
    packet.src = ip(SECOND)
    return packet


@pytest.mark.parametrize("attack", SPOOFED.values(), ids=SPOOFED.keys())
def test_a_host_speaks_for_no_other(guarded: Switch, attack: Callable[[], Packet]) -> None:
    assert guarded.run(FIRST, attack()) == []
    assert drops(guarded) == {"spoofed": 1}


@pytest.mark.parametrize("known", [True, False])
def test_an_arp_probe_is_neither_spoofed_nor_answered(guarded: Switch, known: bool) -> None:
    """RFC 5227: a host without an address asks whether the one that it wants is taken."""
    reply = fy.P4TableAction("arp_reply", mac=ROUTER_MAC)
    asked = fy.P4TableMatch({"target_ip": ip(FIRST)})
    guarded.write([+fy.P4TableEntry("arp_responder", match=asked, action=reply)])
    if not known:
        guarded.write([-network.host_entry(FIRST)])
    probe = Ether(src=mac(FIRST)) / ARP(op=1, hwsrc=mac(FIRST), psrc="0.0.0.0", pdst=ip(FIRST))
    assert guarded.run(FIRST, probe) == []
    assert (absorbed(guarded), drops(guarded)) == (1, {})


def test_a_port_of_which_nothing_is_known_is_open(guarded: Switch) -> None:
    guarded.write([-network.host_entry(FIRST)])
    assert ports(guarded.run(FIRST, SPOOFED["IPv4 to a host"]())) == [SECOND]
    assert ports(guarded.run(FIRST, SPOOFED["a request for repairs"]())) == [AGENT]


def test_a_host_speaks_for_itself(guarded: Switch) -> None:
    assert ports(guarded.run(FIRST, unicast(FIRST, ICMP()))) == [SECOND]
    assert ports(guarded.run(FIRST, frame(FIRST, NACK, bytes(4)))) == [AGENT]
    assert len(guarded.run(UPSTREAM, frame(UPSTREAM, DATA, seq=1))) == 4


def test_an_agent_sends_from_the_addresses_of_its_sessions(guarded: Switch) -> None:
    assert ports(guarded.run(AGENT, unicast(AGENT, TCP(), source="10.200.3.4"))) == [SECOND]
    assert ports(guarded.run(AGENT, unicast(AGENT, TCP()))) == [SECOND]
    assert guarded.run(AGENT, unicast(AGENT, TCP(), source=ip(FIRST))) == []
    assert guarded.run(FIRST, unicast(FIRST, TCP(), source="10.200.3.4")) == []
    assert drops(guarded) == {"spoofed": 2}


def test_a_switch_passes_on_what_comes_from_anywhere(guarded: Switch) -> None:
    assert ports(guarded.run(DOWN, unicast(DOWN, TCP(), source="192.0.2.1"))) == [SECOND]


def test_a_host_makes_no_probes(guarded: Switch) -> None:
    probe = bytearray(feedback(flags=PROBE | ANSWER))
    probe[6:12] = bytes.fromhex(mac(FIRST).replace(":", ""))
    guarded.run(FIRST, bytes(probe))
    assert guarded.packet_ins == [] and drops(guarded) == {"not_switch": 1}
    guarded.run(DOWN, bytes(probe))
    assert len(guarded.packet_ins) == 1


@pytest.mark.parametrize("kind", [REPLY, NACK, REPAIR, DATA])
def test_no_group_header_hides_behind_other_ports(guarded: Switch, kind: int) -> None:
    """A host takes group packets at whatever port it listens."""
    packet = unicast(FIRST, UDP(sport=1234, dport=MEMBER_PORT) / Raw(group(kind)))
    assert guarded.run(FIRST, packet) == []
    longer = unicast(FIRST, UDP(sport=1234, dport=MEMBER_PORT) / Raw(group(kind, b"", length=0) + b"padding"))
    assert guarded.run(FIRST, longer) == []
    assert drops(guarded) == {"foreign_group": 2}


HARMLESS = {
    "nothing": b"",
    "one byte": b"\x01",
    "23 bytes of a header": group(REPLY)[:23],
    "another version": b"\x02" + group(REPLY)[1:],
    "another checksum": group(REPLY)[:22] + bytes(2) + b"data",
    "a DNS query": bytes.fromhex("0105 0100 0001 0000 0000 0000 07") + b"example\x03com\0\0\x01\0\x01",
    "zeroes": bytes(1000),
}


@pytest.mark.parametrize("payload", HARMLESS.values(), ids=HARMLESS.keys())
def test_other_datagrams_pass_as_they_are(guarded: Switch, payload: bytes) -> None:
    sent = unicast(FIRST, UDP(sport=1234, dport=MEMBER_PORT) / Raw(payload))
    (output,) = guarded.run(FIRST, sent)
    assert output.port == SECOND
    assert bytes(Ether(output.frame)[UDP]) == bytes(Ether(bytes(sent))[UDP])


def pieces(datagram: Packet, size: int) -> list[Packet]:
    """The fragments of a datagram of the first receiver, each but the last of `size` bytes."""
    data = bytes(datagram[UDP])
    return [
        Ether(src=mac(FIRST), dst=ROUTER_MAC)
        / IP(
            src=ip(FIRST), dst=ip(SECOND), proto=17, flags="MF" if at + size < len(data) else 0, frag=at // 8
        )
        / Raw(data[at : at + size])
        for at in range(0, len(data), size)
    ]


@pytest.mark.parametrize("sport", [GROUP_PORT, 1234])
@pytest.mark.parametrize("size", [8, 16, 24, 32, 40, 400])
def test_no_group_header_hides_in_fragments(guarded: Switch, sport: int, size: int) -> None:
    datagram = unicast(FIRST, UDP(sport=sport, dport=MEMBER_PORT, chksum=0) / Raw(group(REPLY, bytes(1000))))
    headers = [piece for piece in pieces(datagram, size) if piece[IP].frag < 4]
    assert [output for piece in headers for output in guarded.run(FIRST, piece)] == []
    assert set(drops(guarded)) <= {"fragment", "foreign_group", "malformed"}


def test_no_fragment_lies_over_a_header_that_was_judged(guarded: Switch) -> None:
    harmless = unicast(FIRST, UDP(sport=1234, dport=MEMBER_PORT, chksum=0) / Raw(bytes(1000)))
    first, second, *_ = pieces(harmless, 48)
    assert ports(guarded.run(FIRST, first)) == [SECOND]
    for place in (1, 2, 3):
        second[IP].frag = place
        assert guarded.run(FIRST, second) == []
    assert drops(guarded) == {"fragment": 3}


def test_large_datagrams_pass_in_fragments(guarded: Switch) -> None:
    datagram = unicast(FIRST, UDP(sport=5201, dport=5201) / Raw(bytes(8000)))
    parts = pieces(datagram, 1480)
    assert [ports(guarded.run(FIRST, part)) for part in parts] == [[SECOND]] * len(parts)


def flood(switch: Switch, port: int, kind: int, count: int, now_ns: int = 0) -> int:
    """The number of packet-ins."""
    switch.packet_ins.clear()
    packet = bytes(frame(port, kind, member=0))
    for _ in range(count):
        switch.run(port, packet, now_ns)
    return len(switch.packet_ins)


BURST = REQUESTS.burst


def test_a_flood_of_a_port_starves_nobody(guarded: Switch) -> None:
    """Neither the keepalives of the same port, nor what other ports ask."""
    assert flood(guarded, FIRST, JOIN, 1000) == BURST
    assert flood(guarded, FIRST, REPORT, 10) == 0
    assert drops(guarded) == {"metered": 1010 - BURST}
    assert flood(guarded, FIRST, KEEPALIVE, 1000) == BURST
    assert flood(guarded, SECOND, JOIN, 10) == flood(guarded, SECOND, KEEPALIVE, 10) == 10


def test_a_rate_bounds_the_messages_of_a_port_until_it_is_taken_away(switch: Switch) -> None:
    """It is so low that the clock of a real switch does not matter."""
    assert flood(switch, FIRST, KEEPALIVE, 10) == 10
    switch.write([~network.rate_entry(2 * FIRST + 1, Rate(packets=1, burst=3))])
    assert 3 <= flood(switch, FIRST, KEEPALIVE, 20) <= 5
    switch.write([~fy.P4MeterEntry("punt_meter", index=2 * FIRST + 1)])
    assert flood(switch, FIRST, KEEPALIVE, 10) == 10


def test_answers_to_probes_are_metered_and_counted(guarded: Switch) -> None:
    for _ in range(1000):
        guarded.run(DOWN, feedback(flags=PROBE | ANSWER))
    assert len(guarded.packet_ins) == BURST
    assert drops(guarded) == {"metered": 1000 - BURST}
    (entry,) = guarded.read(fy.P4CounterEntry("punts", index=0))
    assert entry.packet_count == BURST


@pytest.mark.parametrize(("kind", "rate"), [(JOIN, REQUESTS.packets), (KEEPALIVE, KEEPALIVES.packets)])
def test_a_port_regains_its_rate_up_to_a_burst(guarded: Switch, kind: int, rate: int) -> None:
    """Also over the wrap of the switch's clock, which counts us in 32 bits."""
    for second in (0, 2**32 // 10**6 - 1):
        start = second * 10**9
        assert flood(guarded, FIRST, kind, 500, start) == BURST
        assert flood(guarded, FIRST, kind, 500, start + 10**9 // 2) == rate // 2
        assert flood(guarded, FIRST, kind, 500, start + 10 * 10**9) == BURST
    hour = 3600 * 10**9
    for n in range(2, 10):
        assert flood(guarded, FIRST, kind, 500, n * hour) == BURST
