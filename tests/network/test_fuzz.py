"""Random, truncated and contradictory frames at every port: nothing crashes, nothing is forwarded."""

import random
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.network.harness import MIB, Lab
from topologies import variants

FRAMES = 300
SEED = 20260801
GROUP_PORT = 26470


def checksum(data: bytes) -> int:
    """RFC 1071."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def group_frame(rng: random.Random, **changes: int) -> bytes:
    """A frame in the form of the protocol for a session that nobody has; `changes` contradict it."""
    payload = rng.randbytes(rng.randrange(0, 200))
    session = changes.get("session", rng.randrange(1 << 20, 1 << 24))
    fields = {
        "version": 1,
        "type": rng.choice((1, 2, 3, 4, 5, 9, 10, 13, 255)),
        "length": len(payload),
        "udp_length": 8 + 24 + len(payload),
        "total_length": 20 + 8 + 24 + len(payload),
        "ttl": 64,
    } | changes
    header = struct.pack(
        ">BBBBIHHIIHH",
        *(fields["version"], fields["type"], rng.randrange(256), rng.randrange(256), session),
        *(rng.randrange(1 << 16), rng.randrange(1 << 16), rng.randrange(1 << 32), rng.randrange(1 << 32)),
        *(fields["length"], 0),
    )
    header = header[:22] + struct.pack(">H", changes.get("checksum", checksum(header)))
    udp = struct.pack(">HHHH", GROUP_PORT, GROUP_PORT, fields["udp_length"], 0)
    group = bytes([239]) + (session & 0xFFFFFF).to_bytes(3, "big")
    ip = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, fields["total_length"], 1, 0, fields["ttl"], 17, 0, bytes(4), group
    )
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    ethernet = bytes.fromhex("01005e000007") + bytes.fromhex("020000000009") + b"\x08\x00"
    return ethernet + ip + udp + header + payload


def frames(seed: int) -> Iterator[bytes]:
    """None of these may be forwarded by a switch that has no sessions."""
    rng = random.Random(seed)
    contradictions: list[dict[str, int]] = [
        {},
        {"version": 2},
        {"length": 9999},
        {"udp_length": 7},
        {"udp_length": 65535},
        {"total_length": 19},
        {"total_length": 65535},
        {"ttl": 1},
        {"checksum": 0},
        {"session": 0},
    ]
    for number in range(FRAMES):
        kind = number % 3
        if kind == 0:
            yield rng.randbytes(rng.randrange(14, 1514))
        elif kind == 1:
            yield group_frame(rng, **rng.choice(contradictions))
        else:
            whole = group_frame(rng, type=rng.choice((1, 3, 4, 6, 8, 11, 12)))
            yield whole[: rng.randrange(14, len(whole))]


def send_all(interface: str, seed: int) -> None:
    """Run in a host as a script: puts the frames on its interface."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
        link.bind((interface, 0))
        for frame in frames(seed):
            link.send(frame)


def counters(lab: Lab, switch: str) -> tuple[int, dict[int, int]]:
    """Packets that came in (a full queue may have taken some), and packets that went out by port."""
    stats = lab.network.gfswitch(switch).stats()
    ports = cast(list[Any], stats["ports"])
    arrived = sum(port["in"]["packets"] + sum(port["in"]["drops"].values()) for port in ports)
    return arrived, {port["port"]: port["out"]["packets"] for port in ports}


PORTS = [
    (switch.name, port)
    for switch in variants.with_members(variants.named("fig5"), 1).switches.values()
    for port in switch.ports
]


@pytest.mark.parametrize(("switch", "port"), PORTS)
def test_nothing_leaves_that_should_not(pair: Lab, switch: str, port: int) -> None:
    end = pair.topology.switches[switch].ports[port]
    before, sent_before = counters(pair, switch)
    launcher = pair.network.hosts[end.node].launcher() if end.node in pair.network.hosts else ()
    script = [sys.executable, str(Path(__file__)), end.interface, str(SEED + port)]
    subprocess.run([*launcher, *script], check=True, timeout=30)
    deadline = time.monotonic() + 5
    while counters(pair, switch)[0] < before + FRAMES and time.monotonic() < deadline:
        time.sleep(0.01)
    arrived, sent = counters(pair, switch)
    assert arrived >= before + FRAMES
    pair.network.check()
    assert sent == sent_before


async def test_the_switches_work_as_before(pair: Lab) -> None:
    """Runs after the frames above."""
    async with pair.caches(), pair.transfer(pair.session(), pair.file(MIB)) as transfer:
        (await transfer.outcome()).assert_everyone_has_it()


if __name__ == "__main__":
    send_all(sys.argv[1], int(sys.argv[2]))
