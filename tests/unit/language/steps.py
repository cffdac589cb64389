"""The steps in the comments at the head of a small program: entries and frames in, frames out.

    // insert TABLE KEY=VALUE ... [priority=N] => ACTION PARAMETER=VALUE ...
    // member VALUE_SET VALUE      (or, of several parts: KEY=VALUE ...)
    // group ID PORT ...
    // clone ID PORT
    // frame PORT BYTES => PORT BYTES, PORT BYTES       (or: => nothing)

Bytes are hexadecimal. Each frame has `TAIL` behind them, so that no switch finds it too short.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import finsy as fy
from finsy.p4entity import P4ValueSetMember

PROGRAMS = Path(__file__).parent / "programs"
TAIL = b"the rest of a frame"
PORTS = [1, 2, 3, 4, 5, 6]
DIRECTIVE = re.compile(r"^// (insert|member|group|clone|frame) (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Frame:
    """A frame, and those that leave because of it, in the order of ports."""

    port: int
    data: bytes
    out: list[tuple[int, bytes]]


def programs() -> list[Path]:
    return [path for path in sorted(PROGRAMS.glob("*.p4")) if path.stem not in ("start", "rest")]


def steps(path: Path) -> Iterator[Frame | Any]:
    """Frames, and finsy's entities to be inserted, in their order."""
    for kind, text in DIRECTIVE.findall(path.read_text(encoding="utf-8")):
        before, _, behind = text.partition(" => ")
        first, *words = before.split()
        if kind == "frame":
            # A truncated frame has lost its tail.
            tail = b"" if path.stem == "truncate" else TAIL
            sent = [one.split(maxsplit=1) for one in behind.split(", ") if behind != "nothing"]
            out = sorted((int(port), bytes.fromhex(data) + tail) for port, data in sent)
            yield Frame(int(first), bytes.fromhex("".join(words)) + TAIL, out)
        elif kind == "insert":
            keys = dict(word.split("=") for word in words)
            priority = int(keys.pop("priority", "0"))
            action, *values = behind.split()
            parameters: Any = {name: int(value, 0) for name, value in (word.split("=") for word in values)}
            yield fy.P4TableEntry(
                first, match=fy.P4TableMatch({key: _key(value) for key, value in keys.items()}),
                action=fy.P4TableAction(action, **parameters), priority=priority,
            )  # fmt: skip
        elif kind == "member":
            parts = {name: int(value, 0) for name, _, value in (word.rpartition("=") for word in words)}
            yield fy.P4ValueSetEntry(first, members=[P4ValueSetMember(parts)])
        elif kind == "group":
            yield fy.P4MulticastGroupEntry(int(first), replicas=[int(port) for port in words])
        else:
            yield fy.P4CloneSessionEntry(int(first), replicas=[int(words[0])])


def _key(text: str) -> Any:
    """A number, or finsy's text of a prefix; the bounds of a range."""
    low, dots, high = text.partition("..")
    return (int(low, 0), int(high, 0)) if dots else text if "/" in text else int(text, 0)
