"""A stream whose bytes can be told from their place, at a steady rate; and a host that checks what comes."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from groupflow.endpoint.agent_process import AgentProcess
from groupflow.endpoint.errors import AgentError
from groupflow.study.experiment import RunError
from groupflow.tree.members import TreeRecvOptions

_PERIOD = 65_521
"""bytes after which it repeats: a prime, so that no block of a usual size looks like another"""
_BLOCK = random.Random(1).randbytes(_PERIOD)


def stream(start: int, end: int) -> bytes:
    """Bytes `start` to `end` of it."""
    first, last = start // _PERIOD, (end - 1) // _PERIOD
    return (_BLOCK * (last - first + 1))[start - first * _PERIOD : end - first * _PERIOD]


@dataclass(frozen=True)
class Arrival:
    """Bytes came."""

    at: float
    """seconds, time.monotonic"""
    bytes: int
    """of the stream in all, these included"""


class Subscriber(AgentProcess):
    """A host that receives the stream from its beginning, and checks every byte."""

    def __init__(self, options: TreeRecvOptions, launcher: Sequence[str]) -> None:
        super().__init__(options, launcher=launcher)
        self.arrivals: list[Arrival] = []

    @property
    def received(self) -> int:
        """Bytes."""
        return self.arrivals[-1].bytes if self.arrivals else 0

    async def read(self) -> None:
        """To its end, or the host's. Raises RunError."""
        while chunk := await self.data_out.read(1 << 16):
            at, start = time.monotonic(), self.received
            if chunk != stream(start, start + len(chunk)):
                raise RunError(f"{self.options.name}: byte {start} or one after it is not the stream's")
            self.arrivals.append(Arrival(at, start + len(chunk)))

    @property
    def children(self) -> list[str]:
        """Who it said to serve."""
        progress = self.latest.get("progress")
        return list(progress.texts("children")) if progress else []

    @property
    def packets(self) -> int:
        """Of QUIC, that came, as it said last."""
        progress = self.latest.get("progress")
        quic = cast("dict[str, int]", progress.fields.get("quic") or {}) if progress else {}
        return quic.get("came", 0)

    @property
    def host(self) -> str:
        """Its name in the tree."""
        return self.latest["joined"].text("host")


class Source:
    """Writes the stream."""

    def __init__(self, into: asyncio.StreamWriter) -> None:
        self.sent = 0
        """bytes that were taken"""
        self._into = into

    async def write(self, rate: int, stop: asyncio.Event) -> None:
        """At `rate` bit/s until it is to stop, or as fast as it is taken; then the stream ends."""
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
    """Waits until it has all. Raises AgentError, RunError."""
    await reading
    try:
        await subscriber.finish()
    except AgentError as error:
        raise RunError(f"{subscriber.options.name}: {error}") from None
