"""The controller's events, for subscribers: `groupflow controller watch` and the REST API's event stream."""

import asyncio
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeAlias

Event: TypeAlias = dict[str, str | int | float | bool | None]

HISTORY = 256
QUEUE = 1024
"""Events that may wait for a subscriber; with more, events are lost and it is told their number."""


class Events:
    def __init__(self) -> None:
        self._history: deque[Event] = deque(maxlen=HISTORY)
        self._subscribers: set[Subscriber] = set()

    def tell(self, what: str, **fields: str | int | float | bool | None) -> None:
        event: Event = {"time": time.time(), "event": what, **fields}
        self._history.append(event)
        for subscriber in self._subscribers:
            subscriber.tell(event)

    def recent(self) -> list[Event]:
        return list(self._history)

    @contextmanager
    def subscribed(self) -> Generator["Subscriber"]:
        """A subscriber to the events from now on."""
        subscriber = Subscriber()
        self._subscribers.add(subscriber)
        try:
            yield subscriber
        finally:
            self._subscribers.discard(subscriber)


class Subscriber:
    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event] = asyncio.Queue(QUEUE)
        self._missed = 0

    def tell(self, event: Event) -> None:
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self._missed += 1

    def waiting(self) -> list[Event]:
        """All that wait, at once."""
        found: list[Event] = []
        while self._missed or not self._queue.empty():
            found.append(self._queue.get_nowait() if not self._queue.empty() else self._lost())
        return found

    def _lost(self) -> Event:
        missed, self._missed = self._missed, 0
        return {"time": time.time(), "event": "events-missed", "count": missed}

    async def next(self) -> Event:
        if self._missed and self._queue.empty():
            return self._lost()
        return await self._queue.get()
