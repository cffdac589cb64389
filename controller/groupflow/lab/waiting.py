"""Waiting for what cannot call back: counters of other programs, sockets of other hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_INTERVAL_S = 0.02


async def until(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether it did within so long."""
    try:
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110 (nobody sets an event)
                await asyncio.sleep(_INTERVAL_S)
    except TimeoutError:
        return False
    return True
