"""Vectors: entries, a frame in, and the frame that leaves. Each vector starts on a switch without entries.

    vector NAME
    insert TABLE KEY=VALUE ... [priority=N] => ACTION PARAMETER=VALUE ...
    frame PORT BYTES => PORT BYTES          (or: => nothing)

A ternary value is `VALUE&MASK`, a prefix `VALUE/LENGTH`. Bytes are hexadecimal; `*` stands for a digit that a
program does not determine. `CPU_PORT` is the controller's: its frames begin with
the packet-out's header, and those to it with the packet-in's. Each of the multicast groups `GROUPS` has one
replica, whose port and instance are the group's number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import finsy as fy

from tests.support.p4.network import CPU_PORT

GROUPS = range(1, 9)
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Out:
    port: int
    digits: str
    """hexadecimal, with `*` where any digit will do"""

    def fits(self, port: int, data: bytes) -> bool:
        return port == self.port and re.fullmatch(self.digits.replace("*", "."), data.hex()) is not None


@dataclass(frozen=True)
class Vector:
    name: str
    inserts: tuple[str, ...]
    """lines without their first word"""
    port: int
    data: bytes
    out: tuple[Out, ...]

    def text(self) -> str:
        """The lines of the vector."""
        sent = ", ".join(f"{one.port} {one.digits}" for one in self.out) or "nothing"
        lines = (f"vector {self.name}", *(f"insert {line}" for line in self.inserts))
        return "\n".join((*lines, f"frame {self.port} {self.data.hex()} => {sent}", ""))

    def entries(self) -> Iterator[fy.P4TableEntry]:
        for line in self.inserts:
            before, _, behind = line.partition(" => ")
            table, *words = before.split()
            keys = dict(word.split("=") for word in words)
            priority = int(keys.pop("priority", "0"))
            action, *values = behind.split()
            parameters: Any = {name: int(value, 0) for name, value in (word.split("=") for word in values)}
            yield fy.P4TableEntry(
                table,
                match=fy.P4TableMatch({key: _key(value) for key, value in keys.items()}),
                action=fy.P4TableAction(action, **parameters),
                priority=priority,
            )


def _key(text: str) -> Any:
    """A number, or finsy's text of a prefix or of a value and its mask."""
    return text.replace("&", "/&") if "&" in text else text if "/" in text else int(text, 0)


def vectors(path: Path) -> Iterator[Vector]:
    """The vectors of a file."""
    name, inserts = "", list[str]()
    for line in path.read_text(encoding="utf-8").splitlines():
        word, _, rest = line.partition(" ")
        if word == "vector":
            name, inserts = rest, []
        elif word == "insert":
            inserts.append(rest)
        elif word == "frame":
            before, _, behind = rest.partition(" => ")
            port, data = before.split()
            sent = [one.split() for one in behind.split(", ") if behind != "nothing"]
            out = tuple(Out(int(one), digits) for one, digits in sent)
            yield Vector(name, tuple(inserts), int(port), bytes.fromhex(data), out)


def play(switch: Any, vector: Vector) -> tuple[list[tuple[int, bytes]], bool]:
    """The frames that leave a switch without entries, and whether they fit."""
    groups = [fy.P4MulticastGroupEntry(group, replicas=[(group, group)]) for group in GROUPS]
    switch.write([*(+group for group in groups), *(+entry for entry in vector.entries())])
    if vector.port == CPU_PORT:
        header = int.from_bytes(vector.data[:2], "big")
        fields = {"egress_port": header >> 7, "inject": header >> 6 & 1, "padding": header & 0x3F}
        switch.packet_out(vector.data[2:], **fields)
        outputs = switch.advance(0)
    else:
        outputs = switch.run(vector.port, vector.data)
    left = [(output.port, output.frame) for output in outputs]
    for told in switch.packet_ins:
        header = told.metadata["ingress_port"] << 7 | told.metadata["reason"]
        left.append((CPU_PORT, header.to_bytes(2, "big") + told.payload))
    fits = len(left) == len(vector.out) and all(
        expected.fits(*frame) for expected, frame in zip(vector.out, sorted(left), strict=True)
    )
    return left, fits
