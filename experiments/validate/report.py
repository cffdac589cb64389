"""The tables of netsim beside ns-2."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.validate.compare import Pair, Row

HEADINGS = (
    "scenario",
    "TCP",
    "flow",
    "ns-2: acknowledged",
    "dropped",
    "timeouts",
    "mean window",
    "exact line: samples equal",
    "first",
    "windows apart",
    "netsim: acknowledged",
    "dropped",
    "timeouts",
    "mean window",
    "windows apart",
)

LATE_HEADINGS = ("scenario", "TCP", "flow", "acknowledged", "dropped", "mean window", "windows apart")


def cells(row: Row) -> list[str]:
    """A row of the table."""
    exact, ours = row.exact, row.netsim
    theirs = ours.ns2.last
    acknowledged, dropped, window, apart = _differences(ours)
    return [
        *_names(row),
        str(theirs.acked),
        str(theirs.dropped),
        str(theirs.timeouts),
        f"{ours.ns2.window:.1f}",
        f"{exact.equal} of {len(exact.ns2.samples)}",
        row.first,
        f"{exact.apart:.2f} %",
        acknowledged,
        dropped,
        str(ours.other.last.timeouts),
        window,
        apart,
    ]


def form(row: Row) -> dict[str, Any]:
    """A row for JSON; differences in percent of ns-2's."""
    exact, ours = row.exact, row.netsim
    return {
        "scenario": row.scenario.name,
        "variant": row.scenario.flows[row.flow].variant,
        "flow": row.flow + 1,
        "exact": {"equal": exact.equal, "samples": len(exact.ns2.samples), "apart": exact.apart},
        "ns2": asdict(ours.ns2.last) | {"mean_window": ours.ns2.window},
        "netsim": asdict(ours.other.last) | {"mean_window": ours.other.window, "apart": ours.apart},
    }


def late_cells(table: Sequence[Row]) -> list[list[str]]:
    """Rows for flows in which netsim differs from ns-2: its distance from the line with departures first."""
    return [[*_names(row), *_differences(row.late)] for row in table if row.late is not None]


def write(table: Sequence[Row], ns2_seconds: float, our_seconds: float, out: Path) -> None:
    """Writes the tables, from which docs/results/validation.md has its figures, into `tables.md`."""
    cost = f"ns-2: {ns2_seconds:.1f} s of CPU. netsim, one thread: {our_seconds:.1f} s, its samples included."
    tables = [_markdown(HEADINGS, [cells(row) for row in table]), _markdown(LATE_HEADINGS, late_cells(table))]
    (out / "tables.md").write_text("\n\n".join([*tables, cost]) + "\n")


def _names(row: Row) -> list[str]:
    return [row.scenario.title, row.scenario.flows[row.flow].variant, str(row.flow + 1)]


def _differences(pair: Pair) -> tuple[str, str, str, str]:
    return (
        f"{pair.throughput:+.2f} %",
        f"{pair.dropped:+.2f} %",
        f"{pair.mean_window:+.2f} %",
        f"{pair.apart:.2f} %",
    )


def _markdown(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [headings, ["---"] * len(headings), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
