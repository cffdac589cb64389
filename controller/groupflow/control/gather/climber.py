"""A throughput climber, as file transfer services use (the paper's [10] of FTS): adds connections while
that pays.

Every client has an equal part of the buffer. A client's connections grow by one while throughput grows with
them, go back by one when it does not, and are tried again after a while. Targets and priorities are not
considered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groupflow.control.gather.buffers import in_ratio, whole_windows
from groupflow.control.gather.model import Client, Limits, Reading, Readings, Setting, Settings

SETTLE_ROUNDS = 4
"""rounds in which throughput is measured at each number: 2 s"""
REST_ROUNDS = 20
"""rounds until the next try: 10 s"""
GAIN = 1.05
"""ratio of throughputs that counts as growth"""


@dataclass(frozen=True)
class Climb:
    """State of a client's climb."""

    connections: int
    rounds: int = 0
    """rounds so far at this number of connections"""
    total: float = 0.0
    """sum of those rounds' throughputs, bit/s"""
    best: float = 0.0
    """mean throughput with one connection less, bit/s"""
    resting: bool = False


Climbs = Mapping[str, Climb]
"""by client"""


@dataclass(frozen=True)
class Climber:
    """The policy: the most throughput for each client, at any cost to the others."""

    def tune(
        self, state: Climbs | None, clients: Sequence[Client], readings: Readings, limits: Limits
    ) -> tuple[Climbs, Settings]:
        windows = whole_windows(in_ratio(limits.buffer, {c.name: 1.0 for c in clients}), limits)
        climbs: dict[str, Climb] = {}
        settings: dict[str, Setting] = {}
        for client in clients:
            window = windows[client.name]
            most = max(1, min(limits.connections, window // limits.segment))
            reading = readings[client.name]
            before = (state or {}).get(client.name) or Climb(max(1, min(reading.connections, most)))
            climbs[client.name] = climb = step(before, reading, most)
            settings[client.name] = Setting(window, climb.connections)
        return climbs, settings


def step(climb: Climb, reading: Reading, most: int) -> Climb:
    """The state after one more round of one client."""
    rounds, total = climb.rounds + 1, climb.total + reading.throughput
    if rounds < (REST_ROUNDS if climb.resting else SETTLE_ROUNDS):
        return Climb(min(climb.connections, most), rounds, total, climb.best, climb.resting)
    mean = total / rounds
    if climb.resting or mean >= GAIN * climb.best:
        if climb.connections >= most:
            return Climb(most, best=0.0, resting=True)
        return Climb(climb.connections + 1, best=mean)
    return Climb(max(1, min(climb.connections - 1, most)), resting=True)
