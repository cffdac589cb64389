"""Tells the watchers of a prefix the committed changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from groupflow.store.interface import StoreError, Writes

QUEUE = 1024
"""Most changes that may wait for a watcher."""


class Watchers:
    def __init__(self) -> None:
        self._queues: dict[asyncio.Queue[tuple[str, str | None] | None], str] = {}

    def tell(self, writes: Writes) -> None:
        for queue, prefix in list(self._queues.items()):
            for key, value in writes.items():
                if not key.startswith(prefix):
                    continue
                try:
                    queue.put_nowait((key, value))
                except asyncio.QueueFull:
                    del self._queues[queue]
                    queue.get_nowait()
                    queue.put_nowait(None)
                    break

    def watch(self, prefix: str) -> AsyncIterator[tuple[str, str | None]]:
        """Begins at the call, not at the first iteration, so that no change between them is lost."""
        queue: asyncio.Queue[tuple[str, str | None] | None] = asyncio.Queue(QUEUE)
        self._queues[queue] = prefix
        return self._follow(queue)

    async def _follow(
        self, queue: asyncio.Queue[tuple[str, str | None] | None]
    ) -> AsyncIterator[tuple[str, str | None]]:
        try:
            while (change := await queue.get()) is not None:
                yield change
            raise StoreError(f"a watcher fell {QUEUE} changes behind; list the prefix and watch again")
        finally:
            with suppress(KeyError):
                del self._queues[queue]
