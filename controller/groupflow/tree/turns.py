"""Events of a service, carried out one after the other."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias, TypeVar

from groupflow.tree.connection import NONSENSE
from groupflow.tree.forest import Told

Event: TypeAlias = Callable[[], Awaitable[Told]]
"""carries out the event, and returns the messages that follow"""

_WAITING = 1024
_Result = TypeVar("_Result")


class Turns:
    """Events that wait to be carried out; a caller that adds one waits while there are too many."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[Event] = asyncio.Queue(_WAITING)

    async def put(self, event: Event) -> None:
        await self._events.put(event)

    async def result(self, work: Callable[[], Awaitable[tuple[_Result, Told]]]) -> _Result:
        """Result of `work`, which is carried out after the waiting events. Raises the errors of `work` that a
        host's message may have caused."""
        done: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()

        async def event() -> Told:
            try:
                result, told = await work()
                if not done.done():
                    done.set_result(result)
                return told
            except NONSENSE as error:
                if not done.done():
                    done.set_exception(error)
                return []
            finally:
                done.cancel()

        await self._events.put(event)
        return await done

    async def next(self, pause: float | None) -> list[Event]:
        """All waiting events; none if none comes for `pause` seconds."""
        events: list[Event] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                events.append(await self._events.get())
        while not self._events.empty():
            events.append(self._events.get_nowait())
        return events
