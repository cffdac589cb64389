"""The rate agent: the work of gfswitch's traffic manager for the control, done beside a BMv2 switch.

It sends the ticks, keeps queue_depth and queue_share up to date, and applies queue_rate. Three limits of BMv2
remain, as docs/how-to/diffusion.md says: rates are whole packets/s, 0 means no limit, and packets keep the
departure time that they got when queued, which is why queues are kept short and no rate is near 0.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from groupflow.control.diffusion.coefficients import RATE_MAX, UNITS
from groupflow.control.diffusion.plan import QUEUES

NO_LIMIT = 2**32 - 1
DEPTH_PACKETS = 64
"""depth of each controlled queue"""
LEAST_PERIOD_NS = 20_000_000
"""shortest time between rounds, in place of the link's delay d of eq. 3: six switches and their agents share
two cores, and D / d stays small enough for queues that answer late. gfswitch reports once every d instead"""
LEAST_RATE = 10**9 // LEAST_PERIOD_NS
"""packets/s where eq. 1 gives less, also 0: one a round. A packet queued at 1 packet/s would hold up the
queue for a second, even when the pause is over"""
QUEUE_DEPTH = "queue_depth"
QUEUE_RATE = "queue_rate"
QUEUE_SHARE = "queue_share"
LEFT_BEHIND = "left_behind"


class RegisterCell(NamedTuple):
    """A controlled queue of a port."""

    port: int
    queue: int
    line_rate: int
    """rate of the port, in units; RATE_MAX: not limited"""

    @property
    def register(self) -> int:
        return self.port * QUEUES + self.queue


class Tick(NamedTuple):
    period_ns: int
    frame: bytes


class Bmv2(Protocol):
    """The calls that the agent needs of the switch; tests put a fake in its place."""

    def read_registers(self, cells: Sequence[tuple[str, int]]) -> list[int]: ...
    def write_registers(self, cells: Sequence[tuple[str, int, int]]) -> None: ...
    def set_queue_rate(self, port: int, priority: int, packets_per_second: int) -> None: ...
    def set_queue_depth(self, port: int, priority: int, packets: int) -> None: ...


class RateAgent:
    """The agent of one switch. `control` replaces its cells and ticks while it runs."""

    def __init__(self, switch: Bmv2, send: Callable[[bytes], object]) -> None:
        self._switch = switch
        self._send = send
        self._cells: dict[int, RegisterCell] = {}
        self._applied: dict[int, int] = {}
        """the rate set at the switch in packets/s, by register index"""
        self._ticks: tuple[Tick, ...] = ()
        self._due: dict[bytes, int] = {}

    def control(self, cells: Iterable[RegisterCell], ticks: Iterable[Tick]) -> None:
        """Takes over the cells and ticks that the controller wants. Raises UnavailableError."""
        wanted = {cell.register: cell for cell in cells}
        for cell in [cell for index, cell in self._cells.items() if index not in wanted]:
            self._switch.set_queue_rate(cell.port, cell.queue, 0)
            self._applied.pop(cell.register, None)
        for index, cell in wanted.items():
            if index not in self._cells:
                self._switch.write_registers([(name, index, NO_LIMIT) for name in (QUEUE_RATE, QUEUE_SHARE)])
                self._switch.set_queue_depth(cell.port, cell.queue, DEPTH_PACKETS)
        self._cells = wanted
        self._ticks = tuple(ticks)
        frames = {tick.frame for tick in self._ticks}
        self._due = {frame: due for frame, due in self._due.items() if frame in frames}

    def round(self, now_ns: int) -> int:
        """Does everything that is due. Returns the time of the next round in ns. Raises UnavailableError."""
        self._update_registers()
        ready = [tick for tick in self._ticks if self._due.get(tick.frame, 0) <= now_ns]
        for tick in ready:
            self._send(tick.frame)
            due = self._due.get(tick.frame, now_ns) + max(tick.period_ns, LEAST_PERIOD_NS)
            self._due[tick.frame] = max(due, now_ns)  # ticks that were not sent in time are not made up for
        first = min((self._due[tick.frame] for tick in self._ticks), default=now_ns + 100_000_000)
        return max(first, now_ns + LEAST_PERIOD_NS)  # ticks of flows that came later have phases of their own

    def _update_registers(self) -> None:
        demands: dict[int, list[tuple[RegisterCell, int]]] = defaultdict(list)
        wanted = [(name, index) for name in (LEFT_BEHIND, QUEUE_RATE) for index in self._cells]
        found = self._switch.read_registers(wanted)
        depths, rates = found[: len(self._cells)], found[len(self._cells) :]
        for cell, demand in zip(self._cells.values(), rates, strict=True):
            demands[cell.port].append((cell, demand))
        writes = [(QUEUE_DEPTH, index, depth) for index, depth in zip(self._cells, depths, strict=True)]
        for queues in demands.values():
            for (cell, demand), share in zip(queues, shares(queues), strict=True):
                writes.append((QUEUE_SHARE, cell.register, share))
                rate = packets_per_second(min(demand, share))
                if self._applied.get(cell.register, 0) != rate:
                    self._switch.set_queue_rate(cell.port, cell.queue, rate)
                    self._applied[cell.register] = rate
        self._switch.write_registers(writes)

    def run(
        self, refresh: Callable[[], tuple[Sequence[RegisterCell], Sequence[Tick]]], refresh_ns: int
    ) -> None:
        """Runs until an exception: KeyboardInterrupt, or UnavailableError when the switch is gone."""
        look = 0
        while True:
            now = time.monotonic_ns()
            if now >= look:
                self.control(*refresh())
                look = now + refresh_ns
            time.sleep(max(0, self.round(now) - time.monotonic_ns()) / 1e9)


def shares(queues: Sequence[tuple[RegisterCell, int]]) -> list[int]:
    """L of eq. 13 for each queue of one port: B * J~_j / sum J~, over the queues whose rate is set."""
    total = sum(demand for _, demand in queues if demand != NO_LIMIT)
    found: list[int] = []
    for cell, demand in queues:
        if demand == NO_LIMIT or cell.line_rate >= RATE_MAX:
            found.append(NO_LIMIT)
        else:
            found.append(cell.line_rate * demand // total if total else cell.line_rate)
    return found


def packets_per_second(rate: int) -> int:
    """A rate in units, as BMv2 takes it: whole packets/s, at least LEAST_RATE; 0 is no limit."""
    if rate == NO_LIMIT or rate >= RATE_MAX:
        return 0
    return max(LEAST_RATE, (rate + UNITS // 2) // UNITS)
