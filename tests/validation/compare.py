"""Figures of a run, the distance between two runs, and the tables of netsim beside ns-2."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tests.validation.scenarios import Scenario

LIMIT = 5.0  # percent: a greater difference has to be explained


class Sample(NamedTuple):
    """A line of a run's file."""

    time: float
    window: float
    threshold: int
    acked: int
    sent: int
    resent: int
    timeouts: int
    dropped: int


@dataclass(frozen=True)
class Series:
    """A flow over time."""

    samples: tuple[Sample, ...]

    @property
    def last(self) -> Sample:
        """The last sample."""
        return self.samples[-1]

    @property
    def window(self) -> float:
        """Mean congestion window, packets."""
        return sum(sample.window for sample in self.samples) / len(self.samples)


def read(path: Path, scenario: Scenario) -> list[Series]:
    """The flows of a run, from its file."""
    flows: list[list[Sample]] = [[] for _ in scenario.flows]
    for text in path.read_text().splitlines():
        time, flow, window, *counts = text.split()
        index = int(flow)
        if abs(float(time) - scenario.flows[index].start) < 1e-9:
            continue  # whether the first packet has left depends on the order of events
        # ns-2's window grows beyond the receiver's limit.
        usable = min(float(window), scenario.flows[index].window)
        flows[index].append(Sample(float(time), usable, *map(int, counts)))
    return [Series(tuple(samples)) for samples in flows]


@dataclass(frozen=True)
class Pair:
    """A flow in ns-2, or in its replacement, and in another run."""

    ns2: Series
    other: Series

    @property
    def differences(self) -> tuple[float, float, float, float]:
        """Percent: of packets acknowledged, and dropped (all flows'), of the mean windows; `apart`."""
        theirs, ours = self.ns2.last, self.other.last
        return (
            difference(theirs.acked, ours.acked),
            difference(theirs.dropped, ours.dropped),
            difference(self.ns2.window, self.other.window),
            self.apart,
        )

    @property
    def apart(self) -> float:
        """Mean distance of the windows over time, percent of the mean window."""
        pairs = zip(self.ns2.samples, self.other.samples, strict=True)
        distance = sum(abs(theirs.window - other.window) for theirs, other in pairs) / len(self.ns2.samples)
        return 100 * distance / self.ns2.window

    @property
    def equal(self) -> int:
        """Number of samples in which every figure is the same, the window to a thousandth."""
        return sum(
            theirs[2:] == other[2:] and abs(theirs.window - other.window) <= 1e-3 * other.window
            for theirs, other in zip(self.ns2.samples, self.other.samples, strict=True)
        )

    @property
    def differs(self) -> bool:
        """Whether any figure differs by more than the limit."""
        return max(map(abs, self.differences)) > LIMIT


@dataclass(frozen=True)
class Row:
    """A flow in all runs."""

    scenario: Scenario
    flow: int
    exact: Pair
    first: str  # at the same instant, on the exact line: "arrivals" or "departures"
    netsim: Pair
    late: Pair | None  # where netsim differs: the exact line with departures first, and netsim


def pairs(scenario: Scenario, ns2: Path, other: Path) -> list[Pair]:
    """One pair for each flow."""
    return [
        Pair(theirs, ours) for theirs, ours in zip(read(ns2, scenario), read(other, scenario), strict=True)
    ]


def difference(theirs: float, ours: float) -> float:
    """Difference in percent of `theirs`."""
    if theirs == 0:
        return 0.0 if ours == 0 else 100.0
    return 100 * (ours - theirs) / theirs


HEADINGS = (
    "scenario", "TCP", "flow", "ns-2: acknowledged", "dropped", "timeouts", "mean window",
    "exact line: samples equal", "first", "windows apart",
    "netsim: acknowledged", "dropped", "timeouts", "mean window", "windows apart",
)  # fmt: skip
LATE_HEADINGS = ("scenario", "TCP", "flow", "acknowledged", "dropped", "mean window", "windows apart")


def cells(row: Row) -> list[str]:
    """A row of the table."""
    exact, ours = row.exact, row.netsim
    theirs = ours.ns2.last
    acknowledged, dropped, window, apart = _differences(ours)
    return [
        *(*_names(row), str(theirs.acked), str(theirs.dropped), str(theirs.timeouts)),
        f"{ours.ns2.window:.1f}",
        *(f"{exact.equal} of {len(exact.ns2.samples)}", row.first, f"{exact.apart:.2f} %"),
        *(acknowledged, dropped, str(ours.other.last.timeouts), window, apart),
    ]


def form(row: Row) -> dict[str, Any]:
    """A row for JSON; differences in percent of ns-2's."""
    exact, ours = row.exact, row.netsim
    return {
        "scenario": row.scenario.name,
        "variant": row.scenario.flows[row.flow].variant,
        "flow": row.flow + 1,
        "exact": {"equal": exact.equal, "samples": len(exact.ns2.samples), "apart": exact.apart},
        "ns2": ours.ns2.last._asdict() | {"mean_window": ours.ns2.window},
        "netsim": ours.other.last._asdict() | {"mean_window": ours.other.window, "apart": ours.apart},
    }


def late_cells(table: Sequence[Row]) -> list[list[str]]:
    """Rows for flows in which netsim differs from ns-2: its distance from the line with departures first."""
    return [[*_names(row), *_differences(row.late)] for row in table if row.late is not None]


def write(table: Sequence[Row], ns2_seconds: float, our_seconds: float, out: Path) -> None:
    """Writes the tables, from which docs/results/validation.md has its figures, into `tables.md`."""
    cost = f"ns-2: {ns2_seconds:.1f} s of CPU. netsim: {our_seconds:.1f} s, its samples included."
    tables = [_markdown(HEADINGS, [cells(row) for row in table]), _markdown(LATE_HEADINGS, late_cells(table))]
    (out / "tables.md").write_text("\n\n".join([*tables, cost]) + "\n")


def _names(row: Row) -> list[str]:
    return [row.scenario.title, row.scenario.flows[row.flow].variant, str(row.flow + 1)]


def _differences(pair: Pair) -> list[str]:
    *differences, apart = pair.differences
    return [*(f"{each:+.2f} %" for each in differences), f"{apart:.2f} %"]


def _markdown(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [headings, ["---"] * len(headings), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
