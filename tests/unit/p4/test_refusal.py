"""Addresses of TCP sessions that no agent serves: a reset at once, as RFC 9293 requires."""

from __future__ import annotations

import random

import finsy as fy
import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import checksum

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

PREFIX = "10.200.0.0/16"
SERVED, UNSERVED = "10.200.0.1", "10.200.3.9"
CLIENT = 1
SEQ, ACK = 0xFFFF_FFFE, 0x1234_5678


@pytest.fixture
def refusing(bare: Switch) -> Switch:
    """The prefix is refused, but for one session's address, which is behind port 2."""
    bare.write(
        [
            +admit_entry(),
            +fy.P4TableEntry(
                "ipv4_route", match=fy.P4TableMatch({"ipv4_dst": PREFIX}), action=fy.P4TableAction("refuse")
            ),
            +route_entry(f"{SERVED}/32", 2),
        ]
    )
    return bare


def segment(flags: str, payload: bytes = b"", **fields: object) -> Packet:
    tcp = TCP(sport=40001, dport=5000, flags=flags, seq=SEQ, ack=ACK, **fields)
    outer = IP(src=ip(CLIENT), dst=UNSERVED, ttl=7, tos=0x2E, id=99)
    return Ether(src=mac(CLIENT), dst=ROUTER_MAC) / outer / tcp / Raw(payload)


OPTIONS = [("MSS", 1460), ("SAckOK", b""), ("Timestamp", (1, 0)), ("NOP", None), ("WScale", 7)]
CASES = {  # segment: (sequence number, acknowledgement, flags) of the reset
    "SYN": (segment("S"), 0, SEQ + 1, "RA"),
    "SYN with options": (segment("S", options=OPTIONS), 0, SEQ + 1, "RA"),
    "SYN with data": (segment("S", b"x" * 100, options=OPTIONS), 0, SEQ + 1, "RA"),
    "SYN and FIN": (segment("SF"), 0, SEQ + 1, "RA"),
    "ACK": (segment("A"), ACK, 0, "R"),
    "data with ACK": (segment("PA", b"x" * 1400), ACK, 0, "R"),
    "SYN and ACK": (segment("SA"), ACK, 0, "R"),
    "FIN and ACK": (segment("FA"), ACK, 0, "R"),
    "all other bits": (segment("SPUECN", b"x"), 0, SEQ + 1, "RA"),
}


@pytest.mark.parametrize(("sent", "seq", "ack", "flags"), CASES.values(), ids=CASES.keys())
def test_a_segment_becomes_the_reset_that_it_demands(
    refusing: Switch, sent: Packet, seq: int, ack: int, flags: str
) -> None:
    outputs = refusing.run(CLIENT, sent)
    got = only(outputs)
    assert ports(outputs) == [CLIENT] and drops(refusing) == {}
    assert (got.src, got.dst) == (ROUTER_MAC, mac(CLIENT))
    assert (got[IP].src, got[IP].dst, got[IP].ttl, got[IP].len) == (UNSERVED, ip(CLIENT), 64, 40)
    assert (got[IP].tos, got[IP].id, str(got[IP].flags)) == (0, 0, "DF")
    tcp = got[TCP]
    assert (tcp.sport, tcp.dport) == (5000, 40001)
    assert (tcp.seq, tcp.ack, str(tcp.flags)) == (seq, ack % 2**32, flags)
    assert (tcp.dataofs, tcp.reserved, tcp.window, tcp.urgptr) == (5, 0, 0, 0)
    assert len(outputs[0].frame) == len(sent), "what followed is padding now"
    assert_checksums(outputs[0].frame)


def assert_checksums(frame: bytes) -> None:
    header, tcp = frame[14:34], frame[34:54]
    assert checksum(header) == 0
    assert checksum(header[12:20] + b"\x00\x06\x00\x14" + tcp) == 0  # the pseudo header of RFC 9293


def test_checksums_of_random_segments_are_right(refusing: Switch) -> None:
    choose = random.Random(20261121)
    for _ in range(300):
        sent = segment(choose.choice(("S", "A", "PA", "FA", "SA")), choose.randbytes(choose.randrange(40)))
        sent[TCP].seq, sent[TCP].ack = choose.randrange(2**32), choose.randrange(2**32)
        sent[TCP].sport, sent[TCP].dport = choose.randrange(2**16), choose.randrange(2**16)
        sent[TCP].window, sent[TCP].urgptr = choose.randrange(2**16), choose.randrange(2**16)
        sent[IP].src = f"10.{choose.randrange(256)}.{choose.randrange(256)}.{choose.randrange(256)}"
        (output,) = refusing.run(CLIENT, sent)
        assert_checksums(output.frame)


def test_the_padding_of_a_short_frame_is_no_data(refusing: Switch) -> None:
    padded = bytes(segment("S")) + b"\0" * 6
    assert only(refusing.run(CLIENT, padded))[TCP].ack == (SEQ + 1) % 2**32


def test_a_reset_and_what_opens_no_connection_are_not_answered(refusing: Switch) -> None:
    """A segment without SYN and ACK has no number that an answer could acknowledge."""
    for flags in ("R", "RA", "RS", "P", "F", ""):
        assert refusing.run(CLIENT, segment(flags, b"abc")) == []
    assert (absorbed(refusing), drops(refusing)) == (6, {})


@pytest.mark.parametrize("inner", [UDP(dport=5000), ICMP()], ids=["udp", "icmp"])
def test_what_is_not_tcp_is_dropped(refusing: Switch, inner: Packet) -> None:
    sent = Ether(src=mac(CLIENT), dst=ROUTER_MAC) / IP(src=ip(CLIENT), dst=UNSERVED) / inner
    assert refusing.run(CLIENT, sent) == []
    assert drops(refusing) == {"refused": 1}


def test_a_fragment_is_dropped(refusing: Switch) -> None:
    for fields in ({"frag": 100}, {"flags": "MF"}):
        sent = segment("S", b"data")
        for name, value in fields.items():
            setattr(sent[IP], name, value)
        assert refusing.run(CLIENT, sent) == []
    assert drops(refusing) == {"refused": 2}


@pytest.mark.parametrize("words", [4, 0], ids=["short header", "no header"])
def test_a_header_that_contradicts_the_packet_is_malformed(refusing: Switch, words: int) -> None:
    assert refusing.run(CLIENT, segment("S", dataofs=words)) == []
    assert drops(refusing) == {"malformed": 1}


def test_lengths_that_contradict_the_packet_change_no_reset(refusing: Switch) -> None:
    """A chip does not compare them; the reset is made of the headers alone."""
    short, long = segment("S", b"\0" * 20), segment("S", dataofs=15)
    short[IP].len = 39
    for sent in (short, long):
        reset = only(refusing.run(CLIENT, sent))
        assert (reset[IP].len, reset[TCP].dataofs, reset[TCP].ack) == (40, 5, SEQ + 1)
        assert_checksums(bytes(reset))


def test_a_served_session_is_reached_as_any_host(refusing: Switch) -> None:
    sent = segment("S")
    sent[IP].dst = SERVED
    outputs = refusing.run(CLIENT, sent)
    assert ports(outputs) == [2]
    assert bytes(only(outputs)[TCP]) == bytes(Ether(bytes(sent))[TCP]), (
        "TCP passes untouched, checksum and all"
    )


def test_refusals_are_counted_by_port(refusing: Switch) -> None:
    for _ in range(3):
        refusing.run(CLIENT, segment("S"))
    refusing.run(CLIENT, segment("R"))
    counts = {p: refusing.read(fy.P4CounterEntry("refusals", index=p))[0].packet_count for p in (1, 2)}
    assert counts == {1: 3, 2: 0}


def test_the_controllers_segment_is_dropped(refusing: Switch) -> None:
    """A reset would leave by the controller's port without the header of a packet-in."""
    refusing.packet_out(segment("S"), egress_port=0, inject=1, padding=0)
    assert refusing.advance(0) == refusing.packet_ins == []
    assert drops(refusing) == {"refused": 1}
