"""Waiting for conditions that nothing signals: counters of other programs, sockets of other hosts."""

import asyncio
from collections.abc import Callable

_INTERVAL_S = 0.02


async def until(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether `holds()` became true within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110 (there is no event to wait for)
                await asyncio.sleep(_INTERVAL_S)
    except TimeoutError:
        return False
    return True
