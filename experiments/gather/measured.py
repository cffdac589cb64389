"""Measurements of one run on real packets: those of a simulation, and whether the figures can be trusted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from groupflow.agents.events import Event
from groupflow.control.gather.model import Setting
from groupflow.control.gather.tuner import measurements
from groupflow.sim.gather import Round
from papers.sakajiri.outcome import Outcome
from papers.sakajiri.paper import MEGABIT


@dataclass(frozen=True)
class LabOutcome(Outcome):
    """One run under Mininet. `packet_hops` are packets that switches sent."""

    interference_mbps: float = 0.0
    """throughput of all interference terminals together, while they sent"""
    refused: tuple[str, ...] = ()
    """tunings that the server refused, each with the reason"""
    cpu_bound: tuple[str, ...] = ()
    """switches that lagged behind, each with its own figures"""

    @property
    def buffer_peak(self) -> int:
        """The largest sum of all clients' windows in a round, bytes."""
        totals: Counter[float] = Counter()
        for series in self.series.values():
            for end, window in zip(series.ends_s, series.windows, strict=True):
                totals[end] += window
        return max(totals.values(), default=0)


@dataclass
class Recorder:
    """Collects the rounds of a server that gathers."""

    refused: list[str] = field(default_factory=list[str])
    _rounds: list[Round] = field(default_factory=list[Round])

    def take(self, event: Event) -> None:
        """Takes an event of the server. Raises EventError."""
        if event.name == "tune_refused":
            self.refused.append(event.text("text"))
        if event.name == "round":
            for name, reading, _ in measurements(event):
                given = Setting(reading.window, reading.connections)
                self._rounds.append(Round(event.time, name, reading, given))

    def rounds(self, start: float) -> list[Round]:
        """The rounds of all clients, with times in seconds from `start` (Unix seconds) on."""
        return [replace(each, end_s=each.end_s - start) for each in self._rounds if each.end_s > start]


def total_mbps(rounds: Sequence[Round], since_s: float, until_s: float) -> float:
    """Throughput of all clients together, between two times."""
    inside = [each.reading.throughput for each in rounds if since_s < each.end_s <= until_s]
    ends = {each.end_s for each in rounds if since_s < each.end_s <= until_s}
    return sum(inside) / len(ends) / MEGABIT if ends else 0.0
