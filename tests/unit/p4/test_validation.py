"""Malformed and unknown packets are counted by reason and never forwarded."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import finsy as fy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

from groupflow.switch import Switch
from tests.support.p4.layers import DATA, Group
from tests.support.p4.network import UPSTREAM, drops, frame, mac, new_switch, with_session


def changed(change: Callable[[Packet], object]) -> bytes:
    packet = frame(UPSTREAM, DATA, b"payload", seq=1)
    change(packet)
    return bytes(packet)


def cut(count: int) -> bytes:
    return bytes(frame(UPSTREAM, DATA, b"payload", seq=1))[:-count]


def flipped(offset: int) -> bytes:
    data = bytearray(bytes(frame(UPSTREAM, DATA, b"payload", seq=1)))
    data[offset] ^= 0x01
    return bytes(data)


IP_AT, GROUP_AT = 14, 42
BAD = {
    "empty": (b"", "malformed"),
    "short Ethernet": (b"\0" * 13, "malformed"),
    "short IPv4": (cut(7 + 24 + 8 + 1), "malformed"),
    "short group header": (cut(8), "malformed"),
    "payload cut": (cut(1), "malformed"),
    "IPv4 checksum": (flipped(IP_AT + 1), "checksum"),
    "group checksum": (flipped(GROUP_AT + 12), "checksum"),
    "group version": (changed(lambda p: setattr(p[Group], "version", 2)), "malformed"),
    "group length too long": (changed(lambda p: setattr(p[Group], "length", 8)), "malformed"),
    "group length too short": (changed(lambda p: setattr(p[Group], "length", 6)), "malformed"),
    "group length wraps": (changed(lambda p: setattr(p[Group], "length", 0xFFFF)), "malformed"),
    "UDP length": (changed(lambda p: setattr(p[UDP], "len", 20)), "malformed"),
    "address of another session": (changed(lambda p: setattr(p[IP], "dst", "239.0.0.8")), "malformed"),
    "IPv4 total length": (changed(lambda p: setattr(p[IP], "len", 2000)), "malformed"),
    "IPv4 total length below its header": (changed(lambda p: setattr(p[IP], "len", 10)), "malformed"),
    "TTL": (changed(lambda p: setattr(p[IP], "ttl", 1)), "ttl"),
    "IPv4 version": (changed(lambda p: setattr(p[IP], "version", 5)), "malformed"),
    "IPv6": (bytes(Ether() / IPv6() / UDP()), "unknown_protocol"),
    "unknown EtherType": (bytes(Ether(type=0x88CC) / Raw(b"lldp" * 10)), "unknown_protocol"),
    "ARP of another hardware": (bytes(Ether(src=mac(1)) / ARP(hwtype=6)), "malformed"),
    "group address without group header": (
        bytes(Ether(dst="01:00:5e:00:00:07") / IP(dst="239.0.0.7") / UDP(sport=9, dport=9) / Raw(b"x")),
        "not_for_us",
    ),
}


@pytest.mark.parametrize(("data", "reason"), BAD.values(), ids=BAD.keys())
def test_bad_packets_are_counted_and_dropped(switch: Switch, data: bytes, reason: str) -> None:
    assert switch.run(UPSTREAM, data) == []
    assert switch.packet_ins == []
    assert drops(switch) == {reason: 1}


def test_ipv4_options_are_not_understood(switch: Switch) -> None:
    from scapy.layers.inet import IPOption_NOP

    packet = Ether(dst=mac(9)) / IP(dst="10.0.0.2", options=[IPOption_NOP()] * 4) / UDP()
    assert switch.run(UPSTREAM, packet) == []
    assert set(drops(switch)) <= {"unknown_protocol", "checksum"}


def test_padding_of_a_short_frame_is_no_error(switch: Switch) -> None:
    padded = bytes(frame(UPSTREAM, DATA, b"", seq=1)) + b"\0" * 20
    assert len(switch.run(UPSTREAM, padded)) == 4


def test_every_packet_is_counted_at_its_port(switch: Switch) -> None:
    good, bad = bytes(frame(UPSTREAM, DATA, b"x")), b"\0" * 20
    switch.run(UPSTREAM, good)
    switch.run(UPSTREAM, bad)
    (entry,) = switch.read(fy.P4CounterEntry("port_in", index=UPSTREAM))
    assert (entry.packet_count, entry.byte_count) == (2, len(good) + len(bad))


@cache
def node() -> Switch:
    """One switch for all examples: it drops what it is given, so it stays as it was."""
    return with_session(new_switch())


@settings(max_examples=150)
@given(st.binary(max_size=200), st.integers(0, 8))
def test_random_bytes_never_leave_the_switch(data: bytes, port: int) -> None:
    switch = node()
    assert switch.run(port, data) == []
    assert switch.packet_ins == []


def test_mutated_frames_leave_only_as_the_session_allows(switch: Switch) -> None:
    """A damaged copy of a good packet is dropped, or is still a whole packet of the session."""
    generator = random.Random(20261120)
    good = bytes(frame(UPSTREAM, DATA, b"payload" * 5, seq=1))
    for _ in range(2000):
        data = bytearray(good)
        for _ in range(generator.randint(1, 4)):
            data[generator.randrange(len(data))] = generator.randrange(256)
        if generator.random() < 0.3:
            del data[generator.randrange(len(data)) :]
        for output in switch.run(UPSTREAM, bytes(data)):
            group = Group(output.frame[GROUP_AT:])
            assert (group.version, group.type, group.session, group.source) == (1, 1, 7, 1)
