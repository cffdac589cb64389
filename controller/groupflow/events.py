"""What happens, told to whoever listens: `groupflow ctl events` and the REST API's event stream."""

import asyncio
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeAlias

Event: TypeAlias = dict[str, str | int | float | bool | None]

HISTORY = 256
QUEUE = 1024
"""Events a listener may be behind; then it is told how many it missed."""


class Events:
    def __init__(self) -> None:
        self._history: deque[Event] = deque(maxlen=HISTORY)
        self._listeners: set[Listener] = set()

    def tell(self, what: str, **fields: str | int | float | bool | None) -> None:
        event: Event = {"time": time.time(), "event": what, **fields}
        self._history.append(event)
        for listener in self._listeners:
            listener.tell(event)

    def recent(self) -> list[Event]:
        return list(self._history)

    @contextmanager
    def listening(self) -> Generator["Listener"]:
        """A listener to the events from now on."""
        listener = Listener()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)


class Listener:
    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event] = asyncio.Queue(QUEUE)
        self._missed = 0

    def tell(self, event: Event) -> None:
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self._missed += 1

    async def next(self) -> Event:
        if self._missed and self._queue.empty():
            missed, self._missed = self._missed, 0
            return {"time": time.time(), "event": "events-missed", "count": missed}
        return await self._queue.get()
