"""Reads the pcapng files that gfswitch writes."""

import struct
from pathlib import Path
from typing import NamedTuple

_PACKET = 6
_COMMENT, _FLAGS = 1, 2


class Seen(NamedTuple):
    """A frame of a capture."""

    inbound: bool
    frame: bytes
    comment: str


def read_capture(path: Path) -> list[Seen]:
    """The frames in their order; a block that is not whole yet is left out."""
    data, seen = path.read_bytes(), list[Seen]()
    while len(data) >= 12:
        kind, length = struct.unpack_from("<II", data)
        if kind == _PACKET and length <= len(data):
            seen.append(_packet(data[8 : length - 4]))
        data = data[length:]
    return seen


def _packet(body: bytes) -> Seen:
    length = struct.unpack_from("<I", body, 12)[0]
    at, options = 20 + -(-length // 4) * 4, dict[int, bytes]()
    while (option := struct.unpack_from("<HH", body, at)) != (0, 0):
        options[option[0]] = body[at + 4 : at + 4 + option[1]]
        at += 4 + -(-option[1] // 4) * 4
    inbound = struct.unpack("<I", options[_FLAGS])[0] & 3 == 1
    return Seen(inbound, body[20 : 20 + length], options[_COMMENT].decode())
