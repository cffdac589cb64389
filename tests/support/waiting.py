"""Waiting for conditions that nothing signals."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable


async def until(condition: Callable[[], object], what: str = "condition", *, seconds: float = 30.0) -> None:
    """Waits, in real time, until the condition, or the awaitable that it returns, is true."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                found = condition()
                if await found if inspect.isawaitable(found) else found:
                    return
                await asyncio.sleep(0.002)
    except TimeoutError:
        raise AssertionError(f"{what}: not within {seconds:g} s") from None
