"""Waiting for conditions that nothing signals."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast


async def quiet() -> None:
    """Waits until all other tasks wait: for time, or for something outside this process."""
    ready = cast(Any, asyncio.get_running_loop())._ready
    await asyncio.sleep(0)
    while ready:  # noqa: ASYNC110
        await asyncio.sleep(0)


async def stays(condition: Callable[[], object], what: str, *, seconds: float) -> None:
    """Fails when the condition stops to hold within this time: for what must not happen."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                assert condition(), what
                await asyncio.sleep(0.01)


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


def wait_until(condition: Callable[[], object], what: str = "condition", *, seconds: float = 30.0) -> None:
    """The same where no event loop runs."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.01)
