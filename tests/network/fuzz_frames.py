"""Frames that no switch may forward, and their sending on an interface. Runs alone, as a script in a host."""

import random
import socket
import struct
import sys
from collections.abc import Iterator

FRAMES = 300
SEED = 20260801
GROUP_PORT = 26470


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def group_frame(rng: random.Random, **changes: int) -> bytes:
    """A frame in the form of the protocol for a session that does not exist; `changes` contradict it."""
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
    """Frames that a switch without sessions must not forward."""
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
    """Puts the frames on an interface."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
        link.bind((interface, 0))
        for frame in frames(seed):
            link.send(frame)


if __name__ == "__main__":
    send_all(sys.argv[1], int(sys.argv[2]))
