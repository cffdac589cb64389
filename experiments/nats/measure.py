"""A stream at a steady rate to all, one of whom is killed on the way: goodput and silence of the others."""

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
"""time after the stream for bytes under way"""
_WATCHED_S = 3.0
"""time after the kill in which the longest silence is the time to repair"""


@dataclass(frozen=True)
class Outcome:
    """Measurements of one run."""

    system: str
    rate_bps: int
    """rate that the publisher offers"""
    sent: int
    """bytes that the publisher could write"""
    goodput_bps: float
    """median goodput of the fast subscribers while the stream ran"""
    worst_bps: float
    """least goodput of a fast subscriber"""
    lost: int
    """bytes that fast subscribers lacked at the end, summed over all of them"""
    fast: int
    """number of fast subscribers"""
    repair_s: float
    """the longest time without a byte at any of them after another was killed"""
    slow_bps: float
    """the slow subscriber's goodput"""

    @property
    def lost_share(self) -> float:
        """Lost bytes over the bytes meant for the fast subscribers."""
        return self.lost / (self.sent * self.fast)


async def measure(
    name: str, system: AbstractAsyncContextManager[System], rate_bps: int, seconds: float, slow: str
) -> Outcome:
    """Measures one system; `slow`: the subscriber behind the slow link. Raises RunError, ClientError."""
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
    """The longest silence in s, in the time in which it is watched."""
    until = at + _WATCHED_S
    times = [at, *(arrival.at for arrival in heard.arrivals if at < arrival.at < until), until]
    return max(later - earlier for earlier, later in pairwise(times))
