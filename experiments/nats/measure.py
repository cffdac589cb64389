"""A stream at a steady rate to all; one subscriber is killed on the way. What the others get, and when."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from experiments.nats.systems import Heard, System
from experiments.tree.stream import Source
from groupflow.lab.waiting import until

_GRACE_S = 10.0
"""after the stream, for what is under way"""
_WATCHED_S = 3.0
"""after the kill: the longest silence in it is the time to repair"""


@dataclass(frozen=True)
class Outcome:
    """Of one run."""

    system: str
    rate_bps: int
    """offered"""
    sent: int
    """bytes that the publisher could hand over"""
    goodput_bps: float
    """of the fast subscribers while the stream ran, the median"""
    worst_bps: float
    """of the fast subscribers, the least"""
    lost: int
    """bytes that fast subscribers had not in the end, all of them together"""
    fast: int
    """how many they are"""
    repair_s: float
    """the longest time without a byte of any of them after another was killed"""
    slow_bps: float
    """the slow one's goodput"""

    @property
    def lost_share(self) -> float:
        """Of what the fast ones were to get."""
        return self.lost / (self.sent * self.fast)


async def measure(
    name: str, system: AbstractAsyncContextManager[System], rate_bps: int, seconds: float, slow: str
) -> Outcome:
    """`slow`: who is behind the slow link. Raises RunError, ClientError."""
    loop = asyncio.get_running_loop()
    async with system as running, asyncio.TaskGroup() as tasks:
        reading = [tasks.create_task(heard.read()) for heard in running.subscribers.values()]
        source, stop = Source(running.publish), asyncio.Event()
        began = loop.time()
        writing = tasks.create_task(source.write(rate_bps, stop))
        await asyncio.sleep(seconds / 2)
        fast = {who: heard for who, heard in running.subscribers.items() if who != slow}
        serving = running.serving()
        victim = fast.pop(serving if serving in fast else min(fast))
        killed = loop.time()
        victim.signal(signal.SIGKILL)
        await asyncio.sleep(seconds / 2)
        stop.set()
        took = loop.time() - began
        goodput = {who: 8 * heard.received / took for who, heard in running.subscribers.items()}
        await until(lambda: all(heard.received >= source.sent for heard in fast.values()), _GRACE_S)
        lost = sum(source.sent - heard.received for heard in fast.values())
        for task in (writing, *reading):
            task.cancel()
    rates = sorted(goodput[who] for who in fast)
    repair = max(longest_silence(heard, killed) for heard in fast.values())
    return Outcome(
        name, rate_bps, source.sent, median(rates), rates[0], lost, len(fast), repair, goodput[slow]
    )


def longest_silence(heard: Heard, at: float) -> float:
    """Seconds, of those in which it is watched."""
    until = at + _WATCHED_S
    times = [at, *(arrival.at for arrival in heard.arrivals if at < arrival.at < until), until]
    return max(later - earlier for earlier, later in pairwise(times))
