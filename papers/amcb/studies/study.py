"""A study beyond the paper: cases, the rules that judge them, and a figure."""

# matplotlib does not type its keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from matplotlib import pyplot as plt

from experiments.common.claims import Claim
from experiments.common.drawing import COLOURS, save
from papers.amcb.outcome import Outcomes, again, latency
from papers.amcb.paper import Case

BEYOND = "beyond the paper"


@dataclass(frozen=True)
class Study:
    """What the command runs, writes and draws under a name."""

    name: str
    cases: Callable[[bool], list[Case]]
    """of the short variant or the full one"""
    judge: Callable[[Outcomes], list[Claim]]
    draw: Callable[[Path, Outcomes], None]


def finding(study: str, name: str, claim: str, measured: float, unit: str, holds: bool, note: str) -> Claim:
    """A claim of ours; the note states its criterion."""
    return Claim(f"study-{study}-{name}", f"study {study}", claim, BEYOND, measured, unit, holds, note)


def bars(path: Path, title: str, named: Mapping[str, Case], found: Outcomes) -> None:
    """Latency and bytes sent again of each case."""
    drawing, axes = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
    panels = ((latency, "Latency [s]"), (again, "Sent again [% of the file]"))
    for axis, (value, label) in zip(axes, panels, strict=True):
        for place, (case, colour) in enumerate(zip(named.values(), COLOURS * 2, strict=False)):
            axis.bar(place, value(found[case]), 0.7, color=colour)
        axis.set_xticks(range(len(named)), list(named), fontsize="small", rotation=30, ha="right")
        axis.set_ylabel(label)
        axis.grid(alpha=0.25, axis="y")
    drawing.suptitle(title, fontsize="medium")
    save(drawing, path)
