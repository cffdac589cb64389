"""Recordings: a topology and frames, one JSON object a line, compressed by gzip."""

import asyncio
import gzip
import json
import logging
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from groupflow.control.events import Events
from groupflow.control.live.frames import Form
from groupflow.errors import InvalidError, reason

log = logging.getLogger(__name__)

MOST_BYTES = 256 << 20
"""of a recording, not compressed: hours of a small network"""
_FORMAT = "groupflow recording 1"
_OTHER = "no recording, or an empty one; `--record` of net up, controller run and sim run makes one"
BEFORE = 120
"""frames before the chosen moment that a viewer gets at once, for its curves"""


class RecordingError(InvalidError):
    """A recording that cannot be written or read. One line with the cure."""


class Recorder:
    """Writes a recording; each frame is on disk when `add` returns, whatever happens to the process later."""

    def __init__(self, path: Path, topology: Form) -> None:
        self.full = False
        self.problem: RecordingError | None = None
        """what ended the recording early"""
        self._path = path
        self._written = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = gzip.open(path, "wb", compresslevel=3)  # noqa: SIM115  (closed by `close`)
        except OSError as error:
            raise _unwritable(path, error) from None
        self.add(json.dumps({"format": _FORMAT, "topology": topology}))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, text: str) -> None:
        """Adds a frame. When the recording is full, it is left as it is."""
        line = text.encode() + b"\n"
        self.full = self.full or self._written + len(line) > MOST_BYTES
        if self.full:
            return
        self._written += len(line)
        try:
            self._file.write(line)
            self._file.flush(zlib.Z_SYNC_FLUSH)
        except OSError as error:
            raise _unwritable(self._path, error) from None

    async def follow(self, frames: AsyncIterator[str], events: Events | None = None) -> None:
        """Records frames until there are no more, or the recording is full. A recording that cannot be
        written ends here, and not what it is about."""
        try:
            async for text in frames:
                self.add(text)
                if self.full:
                    log.warning("the recording %s is full after %d MiB", self._path, MOST_BYTES >> 20)
                    return
        except RecordingError as error:
            self.problem = error
            log.error("the recording ends here: %s", error)
            if events:
                events.tell("recording-ended", text=str(error))

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()


def _unwritable(path: Path, error: OSError) -> RecordingError:
    return RecordingError(f"--record {path}: {reason(error)}; name another file, or free some room there")


@dataclass(frozen=True)
class Recording:
    """A recording in memory."""

    topology: Form
    times: list[float]
    lines: list[str]

    @staticmethod
    def load(path: Path) -> "Recording":
        """Raises RecordingError. The end of a recording whose writer was killed is left out."""
        lines: list[str] = []
        size = 0
        try:
            with gzip.open(path, "rt", encoding="utf-8") as file, suppress(EOFError):
                for line in file:
                    size += len(line)
                    if size > 2 * MOST_BYTES:
                        raise RecordingError(f"{path}: longer than {MOST_BYTES >> 20} MiB, the most")
                    lines.append(line)
        except (gzip.BadGzipFile, zlib.error, UnicodeDecodeError):
            raise RecordingError(f"{path}: {_OTHER}") from None
        except OSError as error:
            raise RecordingError(f"{path}: {reason(error)}; name a recording") from None
        try:
            header, frames = json.loads(lines[0]), [line for line in lines[1:] if line.endswith("\n")]
            if header["format"] != _FORMAT:
                raise ValueError
            times = [float(json.loads(line)["time"]) for line in frames]
            topology = header["topology"] | {"source": "recording", "from": times[0], "to": times[-1]}
        except (ValueError, KeyError, IndexError, TypeError):
            raise RecordingError(f"{path}: {_OTHER}") from None
        return Recording(topology, times, [line.rstrip("\n") for line in frames])

    async def frames(self, at: float, speed: float) -> AsyncGenerator[str]:
        """Frames as JSON: at once those before `at` (seconds from the start), then each in its time."""
        start = self.times[0] + at
        first = sum(1 for time in self.times if time <= start)
        for line in self.lines[max(0, first - BEFORE) : first]:
            yield line
        loop = asyncio.get_running_loop()
        began = loop.time()
        for time, line in zip(self.times[first:], self.lines[first:], strict=True):
            await asyncio.sleep(began + (time - start) / speed - loop.time())
            yield line
