"""A stream whose bytes show their place, at a steady rate; and a host that checks the bytes it receives."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.errors import AgentError
from groupflow.study.errors import RunFailedError
from groupflow.tree.members import TreeRecvOptions

_PERIOD = 65_521
"""bytes after which the stream repeats: a prime, so that no two blocks of a usual size look alike"""
_BLOCK = random.Random(1).randbytes(_PERIOD)


def stream(start: int, end: int) -> bytes:
    """Bytes `start` to `end` of the stream."""
    first, last = start // _PERIOD, (end - 1) // _PERIOD
    return (_BLOCK * (last - first + 1))[start - first * _PERIOD : end - first * _PERIOD]


@dataclass(frozen=True)
class Arrival:
    """An arrival of bytes."""

    at: float
    """seconds, time.monotonic"""
    bytes: int
    """bytes of the stream so far, these included"""


class Subscriber(AgentProcess):
    """A host that receives the stream from its beginning, and checks every byte."""

    def __init__(self, options: TreeRecvOptions, launcher: Sequence[str]) -> None:
        super().__init__(options, launcher=launcher)
        self.arrivals: list[Arrival] = []

    @property
    def received(self) -> int:
        """Bytes received so far."""
        return self.arrivals[-1].bytes if self.arrivals else 0

    async def read(self) -> None:
        """Reads to the end of the stream, or of the host. Raises RunFailedError."""
        while chunk := await self.data_out.read(1 << 16):
            at, start = time.monotonic(), self.received
            if chunk != stream(start, start + len(chunk)):
                raise RunFailedError(f"{self.options.name}: byte {start} or one after it is not the stream's")
            self.arrivals.append(Arrival(at, start + len(chunk)))

    @property
    def children(self) -> list[str]:
        """The children that it reported last."""
        progress = self.latest.get("progress")
        return list(progress.texts("children")) if progress else []

    @property
    def packets(self) -> int:
        """QUIC packets received, as it reported last."""
        progress = self.latest.get("progress")
        quic = cast("dict[str, int]", progress.fields.get("quic") or {}) if progress else {}
        return quic.get("came", 0)

    @property
    def host(self) -> str:
        """The host's name in the tree."""
        return self.latest["joined"].text("host")


class Source:
    """The writer of the stream."""

    def __init__(self, into: asyncio.StreamWriter) -> None:
        self.sent = 0
        """bytes that the source's host has taken"""
        self._into = into

    async def write(self, rate: int, stop: asyncio.Event) -> None:
        """Writes at `rate` bit/s, or as fast as they are taken, until `stop` is set; then ends the stream."""
        began = time.monotonic()
        while not stop.is_set():
            due = int((time.monotonic() - began) * rate / 8)
            if due > self.sent:
                self._into.write(stream(self.sent, due))
                await self._into.drain()
                self.sent = due
            await asyncio.sleep(0.002)
        self._into.close()


async def finish(subscriber: Subscriber, reading: asyncio.Task[None]) -> None:
    """Waits until the subscriber has everything. Raises AgentError, RunFailedError."""
    await reading
    try:
        await subscriber.finish()
    except AgentError as error:
        raise RunFailedError(f"{subscriber.options.name}: {error}") from None
