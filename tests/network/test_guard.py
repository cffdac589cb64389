"""Attacks of one host on another, over switches that a controller has told of their ports."""

import asyncio
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from scapy.layers.inet import IP, UDP
from scapy.packet import Raw

from groupflow.control.sessions.desired import REQUESTS
from tests.network.harness import MIB, PAYLOAD, Lab, received, sha256
from tests.support.p4.layers import ACK, GROUP_PORT, JOIN, NACK, REPAIR, REPLY, Group

PORT = 5000

LISTEN = f"""
import json, socket
heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
heard.bind(("", {PORT}))
heard.settimeout(20)
print("ready", flush=True)
got = []
while not got or got[-1] != b"end":
    got.append(heard.recv(65535))
print(json.dumps([(len(data), data[:7].decode("latin-1")) for data in got]))
"""

SEND = """
import socket, sys
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
for packet in sys.argv[2:]:
    packet = bytes.fromhex(packet)
    raw.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))
large = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
large.sendto(b"large".ljust(8000), (sys.argv[1], 5000))
large.sendto(b"end", (sys.argv[1], 5000))
"""

ASK = """
import socket, sys
heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
heard.bind(("", 5000))
heard.settimeout(20)
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
for packet in sys.argv[2:]:
    packet = bytes.fromhex(packet)
    raw.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))
print(heard.recv(65535)[:2].hex())
heard.sendto(b"end", (sys.argv[1], 5000))
"""
"""sends the packets, shows the beginning of the first answer, and only then lets the listener end"""

FLOOD = """
import socket, sys, time
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    raw.sendto(bytes.fromhex(sys.argv[3]), (sys.argv[1], 0))
"""
FLOOD_SECONDS = 7.0
"""more than twice the 3 s after which a member that is not heard is gone"""


@pytest.mark.parametrize("victim", ["md1", "ma1"])
def test_no_forgery_reaches_a_host_and_large_datagrams_do(pair: Lab, victim: str) -> None:
    """On the attacker's own switch, and behind the next."""
    hosts = pair.topology.hosts
    own, target = str(hosts["mb1"].ip), str(hosts[victim].ip)

    def datagram(payload: bytes, source: str = own, sport: int = 1234) -> str:
        packet = IP(src=source, dst=target) / UDP(sport=sport, dport=PORT) / Raw(payload)
        return bytes(packet).hex()

    def group(kind: int) -> bytes:
        return bytes(Group(type=kind, session=7, source=1) / Raw(b"forged"))

    def pieces(datagram: str, first: int) -> list[str]:
        """The datagram in two fragments, of which the first has so many bytes behind its IPv4 header."""
        packet = IP(bytes.fromhex(datagram))
        data = bytes(packet.payload)
        header = IP(src=own, dst=target, proto="udp", id=first)
        parts = header.copy() / Raw(data[:first]), header.copy() / Raw(data[first:])
        parts[0][IP].flags, parts[1][IP].frag = "MF", first // 8
        return [bytes(part).hex() for part in parts]

    long = group(REPLY) + bytes(1000)
    attacks = [
        datagram(b"spoofed", source=str(hosts["mc1"].ip)),
        datagram(group(REPLY)),
        datagram(group(REPLY), sport=GROUP_PORT),
        datagram(group(REPAIR), sport=GROUP_PORT),
        *pieces(datagram(long), 400),
        *pieces(datagram(long, sport=GROUP_PORT), 480),
        *pieces(datagram(long), 8),
    ]
    dropped = {
        "spoofed": 1, "foreign_group": 2, "not_controller": 1, "not_agent": 1,
        "malformed": 1,  # a first fragment that ends within the header
        "fragment": 2,  # one from the group's port, and the rest of that header
    }  # fmt: skip
    before = drops(pair)
    with listener(pair, victim) as listening:
        done = pair.network.hosts["mb1"].run([sys.executable, "-c", SEND, target, *attacks])
        assert done.returncode == 0, done
        heard = json.loads(listening.communicate(timeout=30)[0])
    assert heard == [[8000, "large  "], [3, "end"]]
    after = drops(pair)
    assert {reason: after.get(reason, 0) - before.get(reason, 0) for reason in dropped} == dropped


def word(lab: Lab, session: int, host: str, payload: bytes, sport: int, as_host: str = "", **of: int) -> str:
    """A packet of that host's member on ma1's stream, from the address of `as_host`."""
    members = _members(lab, session)
    source = str(lab.topology.hosts[as_host or host].ip)
    packet = IP(src=source, dst=f"239.0.0.{session}", ttl=64) / UDP(sport=sport, dport=GROUP_PORT)
    header = Group(session=session, source=members["ma1"], member=members[host], **of)
    return bytes(packet / header / Raw(payload)).hex()


async def test_a_forged_request_brings_nobody_a_sessions_data(pair: Lab) -> None:
    """The caches keep what md1, whose output nobody reads, has no room for. The member mb1 gets it when it
    asks, and mc1, which is no member, does not: neither when mb1 asks in its name, nor when it asks itself in
    the name of md1."""
    file, session = pair.file(24 * MIB), pair.session()

    def asks(packet: int, host: str, as_host: str) -> str:
        """The answer goes to PORT."""
        return word(pair, session.id, host, 3 * packet.to_bytes(4), PORT, as_host, type=NACK, seq=packet)

    async def run(host: str, script: str, to: str, *packets: str) -> str:
        words = [sys.executable, "-c", script, str(pair.topology.hosts[to].ip), *packets]
        done = await asyncio.to_thread(pair.network.hosts[host].run, words)
        assert done.returncode == 0, done
        return done.stdout

    async with (
        pair.caches(),
        pair.receiving(session, ["mb1"]) as receivers,
        pair.unread(session, "md1") as unread,
        pair.sender(session, "ma1", file, 2) as sender,
    ):
        await sender.wait_for("stalled")
        last = received(receivers["mb1"]) // PAYLOAD
        with listener(pair, "mc1") as listening:
            # SEND's datagrams go to ma1: at mb1, a late one could be taken for an answer.
            await run("mc1", SEND, "ma1", asks(last, "md1", "mc1"))
            answer = await run("mb1", ASK, "mc1", asks(last - 1, "mb1", "mc1"), asks(last, "mb1", "mb1"))
            heard = json.loads(listening.communicate(timeout=30)[0])
        got = await unread.data_out.read()
        for agent in (sender, unread, *receivers.values()):
            await agent.finish()
    assert answer == f"01{REPAIR:02x}\n"
    assert heard == [[3, "end"]], "mc1 heard of the session"
    assert {sha256(pair.output(session, "mb1")), hashlib.sha256(got).hexdigest()} == {sha256(file)}
    pair.controller.api.delete_session(session.id)


async def test_an_acknowledgement_beyond_what_was_sent_stalls_no_sender(pair: Lab) -> None:
    """It is the only receiver's: in the switch, no true acknowledgement would go above it any more."""
    session, file, before = pair.session(), pair.file(24 * MIB), drops(pair)
    async with pair.transfer(session, file, receivers=["mb1"]) as transfer:
        await transfer.until(0.05)
        beyond = word(pair, session.id, "mb1", b"", GROUP_PORT, type=ACK, seq=2**32 - 2)
        words = [sys.executable, "-c", SEND, str(pair.topology.hosts["mc1"].ip), beyond]
        done = await asyncio.to_thread(pair.network.hosts["mb1"].run, words)
        assert done.returncode == 0, done
        (await transfer.outcome()).assert_everyone_has_it()
    assert drops(pair)["beyond"] == before.get("beyond", 0) + 1
    pair.controller.api.delete_session(session.id)


async def test_a_flood_of_requests_ends_nobodys_membership(pair: Lab) -> None:
    """The attacker's host has a member, too, whose keepalives come through the same port as the flood."""
    attacker = pair.topology.hosts["mb1"]
    session = pair.session()
    group = f"239.0.0.{session.id}"
    packet = IP(src=str(attacker.ip), dst=group, ttl=64) / UDP(sport=GROUP_PORT, dport=GROUP_PORT)

    join = bytes(packet / Group(type=JOIN, session=session.id) / Raw(bytes(64))).hex()
    words = [sys.executable, "-c", FLOOD, group, str(FLOOD_SECONDS), join]
    names, file = ("mb1", "mc1", "md1"), pair.file(100_000)
    async with pair.receiving(session, names) as receivers:
        there, before, begun = _members(pair, session.id), _counted(pair), time.monotonic()
        done = await asyncio.to_thread(pair.network.hosts["mb1"].run, words)
        assert done.returncode == 0, done
        dropped, passed = (now - then for now, then in zip(_counted(pair), before, strict=True))
        assert passed <= REQUESTS.burst + REQUESTS.packets * (time.monotonic() - begun)
        assert dropped > passed, "it was no flood"
        assert _members(pair, session.id) == there and there.keys() == set(names)
        async with pair.sender(session, "ma1", file, len(names)) as sender:
            for agent in (sender, *receivers.values()):
                await agent.finish()
    assert {sha256(pair.output(session, name)) for name in names} == {sha256(file)}
    pair.controller.api.delete_session(session.id)


@contextmanager
def listener(lab: Lab, host: str) -> Generator[subprocess.Popen[str]]:
    """LISTEN on a host, when it listens."""
    words = [*lab.network.hosts[host].launcher(), sys.executable, "-c", LISTEN]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as listening:
        try:
            assert listening.stdout is not None and listening.stdout.readline() == "ready\n"
            yield listening
        finally:
            listening.kill()


def _members(lab: Lab, session: int) -> dict[str, Any]:
    """Ids by name."""
    found = cast(list[dict[str, Any]], lab.controller.get(f"/sessions/{session}/members"))
    return {each["name"]: each["id"] for each in found}


def _counted(lab: Lab) -> tuple[int, int]:
    """Requests that the attacker's switch dropped, and JOINs that it handed to the controller."""
    return drops(lab).get("metered", 0), drops(lab, "punts").get(str(JOIN), 0)


def drops(lab: Lab, counter: str = "drops") -> dict[str, int]:
    """Packets that the attacker's switch dropped, by reason; or another counter's, by its index."""
    counters = cast(dict[str, Any], lab.controller.get(f"/switches/s1/counters?counter={counter}"))
    return {count["index"]: count["packets"] for count in counters[counter]}
