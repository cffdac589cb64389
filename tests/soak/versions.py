"""The files of a hub's folder, and all former versions of each."""

import hashlib
import random
from pathlib import Path

SIZES = (0, 400_000)
"""bytes, the least and the most"""


class Versions:
    """Changes the files; knows whether a rim's answer has ever been one of them."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self._folder = folder
        self._random = rng
        self._contents: dict[str, dict[str, bytes]] = {}
        """all versions of a file, by name and hash"""
        self.now: dict[str, str] = {}
        """hash of each present file"""

    def put(self, name: str) -> None:
        """A new file, or another in its place, at once."""
        self._write(name, self._random.randbytes(self._random.randint(*SIZES)))

    def change(self, name: str) -> None:
        """Changes a part of a file in place: a reader may see both versions."""
        data = bytearray(self._contents[name][self.now[name]])
        at = self._random.randrange(len(data) + 1)
        data[at : at + 1000] = self._random.randbytes(self._random.randint(1000, 3000))
        self._note(name, bytes(data))
        with (self._folder / name).open("r+b") as file:
            file.seek(at)
            file.write(data[at:])

    def remove(self, name: str) -> None:
        del self.now[name]
        (self._folder / name).unlink()

    def fault(self, name: str, tag: str, data: bytes, begin: int | None = None) -> str | None:
        """The fault in an answer that names the version `tag`, or in a part of it from `begin` on."""
        versions = self._contents.get(name, {})
        if tag not in versions:
            return f"{name} was never {tag[:8]}, which has {len(data)} bytes"
        whole = versions[tag]
        if data != (whole if begin is None else whole[begin : begin + len(data)]):
            return f"{name}: {len(data)} bytes are not those of {tag[:8]}"
        return None

    def _note(self, name: str, data: bytes) -> None:
        digest = hashlib.sha256(data).hexdigest()
        self._contents.setdefault(name, {})[digest] = data
        self.now[name] = digest

    def _write(self, name: str, data: bytes) -> None:
        self._note(name, data)
        unfinished = self._folder / f".{name}"
        unfinished.write_bytes(data)
        unfinished.replace(self._folder / name)
