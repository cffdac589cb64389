"""Attacks of one host on another, over switches that a controller has told of their ports."""

import asyncio
import json
import subprocess
import sys
import time
from typing import Any, cast

import pytest
from scapy.layers.inet import IP, UDP
from scapy.packet import Raw

from tests.network.harness import Lab, sha256
from tests.support.p4.layers import GROUP_PORT, JOIN, REPAIR, REPLY, Group

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
    raw.sendto(bytes.fromhex(packet), (sys.argv[1], 0))
large = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
large.sendto(b"large".ljust(8000), (sys.argv[1], 5000))
large.sendto(b"end", (sys.argv[1], 5000))
"""

FLOOD = """
import socket, sys, time
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    raw.sendto(bytes.fromhex(sys.argv[3]), (sys.argv[1], 0))
"""
FLOOD_SECONDS = 7.0
"""more than twice the 3 s after which a member that is not heard is gone"""
REQUESTS_A_SECOND, REQUEST_BURST = 200, 400
"""of a port, by sizes.p4"""


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

    attacks = {
        "spoofed": datagram(b"spoofed", source=str(hosts["mc1"].ip)),
        "foreign_group": datagram(group(REPLY)),
        "not_controller": datagram(group(REPLY), sport=GROUP_PORT),
        "not_agent": datagram(group(REPAIR), sport=GROUP_PORT),
    }
    before = drops(pair)
    listening = subprocess.Popen(
        [*pair.network.hosts[victim].launcher(), sys.executable, "-c", LISTEN],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert listening.stdout is not None and listening.stdout.readline() == "ready\n"
    done = pair.network.hosts["mb1"].run([sys.executable, "-c", SEND, target, *attacks.values()])
    assert done.returncode == 0, done
    heard, _ = listening.communicate(timeout=30)
    assert json.loads(heard) == [[8000, "large  "], [3, "end"]]
    after = drops(pair)
    assert {reason: after.get(reason, 0) - before.get(reason, 0) for reason in attacks} == dict.fromkeys(
        attacks, 1
    )


async def test_a_flood_of_requests_ends_nobodys_membership(pair: Lab) -> None:
    """The attacker's host has a member, too, whose keepalives come through the same port as the flood."""
    attacker = pair.topology.hosts["mb1"]
    session = pair.session()
    group = f"239.0.0.{session.id}"
    packet = IP(src=str(attacker.ip), dst=group, ttl=64) / UDP(sport=GROUP_PORT, dport=GROUP_PORT)

    def members() -> dict[str, Any]:
        found = cast(list[dict[str, Any]], pair.controller.get(f"/sessions/{session.id}/members"))
        return {each["name"]: each["id"] for each in found}

    join = bytes(packet / Group(type=JOIN, session=session.id) / Raw(bytes(64))).hex()
    words = [sys.executable, "-c", FLOOD, group, str(FLOOD_SECONDS), join]
    names, file = ("mb1", "mc1", "md1"), pair.file(100_000)
    async with pair.receiving(session, names) as receivers:
        there, before, begun = members(), _counted(pair), time.monotonic()
        done = await asyncio.to_thread(pair.network.hosts["mb1"].run, words)
        assert done.returncode == 0, done
        dropped, passed = (now - then for now, then in zip(_counted(pair), before, strict=True))
        assert passed <= REQUEST_BURST + REQUESTS_A_SECOND * (time.monotonic() - begun)
        assert dropped > passed, "it was no flood"
        assert members() == there and there.keys() == set(names)
        async with pair.sender(session, "ma1", file, len(names)) as sender:
            for agent in (sender, *receivers.values()):
                await agent.finish()
    assert {sha256(pair.output(session, name)) for name in names} == {sha256(file)}
    pair.controller.delete(f"/sessions/{session.id}")


def _counted(lab: Lab) -> tuple[int, int]:
    """Requests that the attacker's switch dropped, and JOINs that it handed to the controller."""
    return drops(lab).get("metered", 0), drops(lab, "punts").get(str(JOIN), 0)


def drops(lab: Lab, counter: str = "drops") -> dict[str, int]:
    """Packets that the attacker's switch dropped, by reason; or another counter's, by its index."""
    counters = cast(dict[str, Any], lab.controller.get(f"/switches/s1/counters?counter={counter}"))
    return {count["index"]: count["packets"] for count in counters[counter]}
