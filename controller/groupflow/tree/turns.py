"""What happens at a service, one after the other."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias, TypeVar

from groupflow.tree.connection import NONSENSE
from groupflow.tree.forest import Told

Event: TypeAlias = Callable[[], Awaitable[Told]]
"""carries it out, and returns what comes of it"""

_WAITING = 1024
_Result = TypeVar("_Result")


class Turns:
    """Events that wait to be carried out; who brings one waits where there are too many."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[Event] = asyncio.Queue(_WAITING)

    async def put(self, event: Event) -> None:
        await self._events.put(event)

    async def result(self, work: Callable[[], Awaitable[tuple[_Result, Told]]]) -> _Result:
        """What comes of it when the events before are carried out. Raises what it does, if what a host said
        may be the reason."""
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
        """All that wait; none if none comes for `pause` seconds."""
        events: list[Event] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                events.append(await self._events.get())
        while not self._events.empty():
            events.append(self._events.get_nowait())
        return events
