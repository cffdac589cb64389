"""A study beyond the paper: points, the rules that judge them, and a figure."""

# matplotlib does not type its keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from experiments.common.claims import Claim
from papers.icn2011.outcome import Indices, Points
from papers.icn2011.paper import QUICK_LOADS, Case

BEYOND = "beyond the paper"
HIGH_LOADS = (0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class Study:
    """What the command runs, writes and draws under a name."""

    name: str
    about: str
    """for people: one line"""
    cases: Callable[[bool], list[Case]]
    """of the short variant or the full one"""
    judge: Callable[[Points], list[Claim]]
    """by rules that are stated before anything is run"""
    draw: Callable[[Path, Points], None]
    """its figure"""


def high_loads(quick: bool) -> tuple[float, ...]:
    """At which studies of overload have points."""
    return QUICK_LOADS[1:] if quick else HIGH_LOADS


def finding(study: str, name: str, claim: str, measured: float, unit: str, holds: bool, note: str) -> Claim:
    """A claim of ours; the note states its criterion."""
    return Claim(f"study-{study}-{name}", f"study {study}", claim, BEYOND, measured, unit, holds, note)


def curve(
    axis: Axes,
    points: Points,
    cases: Iterable[Case],
    index: Callable[[Indices], float],
    label: str,
    colour: str,
    *,
    dashed: bool = False,
) -> None:
    """An index against the load at those of these points that differ in the load only."""
    found = sorted((case.load, points[case]) for case in cases)
    axis.errorbar(
        [load for load, _ in found],
        [index(point.mean) for _, point in found],
        yerr=[index(point.spread) for _, point in found],
        label=label,
        color=colour,
        linestyle="--" if dashed else "-",
        marker="o" if dashed else "s",
        markerfacecolor="white" if dashed else None,
        markersize=3.5,
        linewidth=1.1,
        capsize=2,
    )
    axis.set_xlabel("Traffic load")
    axis.grid(alpha=0.25)
