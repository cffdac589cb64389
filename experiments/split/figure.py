"""Throughput and link bytes of each method, on the real network and in netsim."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from experiments.split.plan import CONTROLS, Plan, Result, Where
from groupflow.study.drawing import bar, save, subplots
from papers.icn2011.paper import METHODS, Method

PLACES: tuple[Where, ...] = ("kernel", "netsim", "netsim exact")

LABELS: dict[Method, str] = {"unicast": "unicast", "n2n": "N2N", "e2e": "E2E"}


def draw(path: Path, plan: Plan, results: Sequence[Result]) -> None:
    """Draws a row for each TCP: throughput, bytes on the link between the switches, the cache at s1."""
    shown: list[tuple[str, Callable[[Result], float]]] = [
        ("throughput of a member, Mb/s", lambda r: fmean(r.throughput_bps.values()) / 1e6),
        ("bytes on s1-s2, MB", lambda r: r.link_bytes["s1", "s2"] / 1e6),
        ("most in the cache at s1, MB", lambda r: r.cache_peak_bytes.get("s1", 0) / 1e6),
    ]
    size = (11, 2.9 * len(plan.tcp))
    figure, grid = subplots(len(plan.tcp), len(shown), figsize=size, squeeze=False)
    places: list[tuple[Method, int]] = [(method, members) for method in METHODS for members in plan.members]
    for row, tcp in zip(grid, plan.tcp, strict=True):
        for axis, (label, value) in zip(row, shown, strict=True):
            for number, where in enumerate(PLACES):
                shown_here = [r for r in results if (r.where, r.case.tcp) == (where, tcp)]
                found = {(r.case.method, r.case.members): value(r) for r in shown_here}
                at = [place for place, key in enumerate(places) if key in found]
                heights = [found[places[place]] for place in at]
                offsets = np.array(at, dtype=np.float64) + 0.28 * (number - 1)
                axis.bar(offsets, heights, 0.26, label=where, **bar(number))
            names = [f"{LABELS[method]}\nto {3 * members}" for method, members in places]
            axis.set_xticks(range(len(places)), names, fontsize="small")
            axis.set(title=f"{label} ({CONTROLS[tcp]})")
            axis.title.set_fontsize("medium")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(PLACES), fontsize="small")
    save(figure, path)
