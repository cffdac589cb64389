"""The paper's figures 6 to 19: without diffusion-type flow control on the left, with it on the right."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from groupflow.study.drawing import COLOURS, GREY, PALE, Axes, save, subplots
from papers.takano.outcome import Outcome

SNAPSHOTS = 5
"""number of instants in figures 12 and 13"""
SIDES = ("TCP without DFC", "TCP with DFC")


def efficiency(path: Path, tcp: Sequence[Outcome], dfc: Sequence[Outcome]) -> None:
    """Figures 6 to 11 and 14 to 19: network efficiency over time, the first run before its repetitions."""
    figure, axes = subplots(1, 2, figsize=(10, 3.2), sharey=True)
    for axis, runs, side in zip(axes, (tcp, dfc), SIDES, strict=True):
        for outcome in runs[1:]:
            axis.plot(outcome.time_s, outcome.efficiency, linewidth=0.5, color=PALE)
        first = runs[0]
        axis.plot(first.time_s, first.efficiency, linewidth=0.8, color=COLOURS[0])
        axis.axhline(0.5, linewidth=0.6, color=GREY, linestyle=":")
        more = f", {len(runs)} runs" if len(runs) > 1 else ""
        axis.set(title=side + more, xlabel="time (s)", ylim=(0, 1), xlim=(0, first.case.seconds))
    axes[0].set_ylabel("efficiency of the network")
    case = tcp[0].case
    figure.suptitle(f"{case.figure}: scenario {case.name}")
    save(figure, path)


def stored(path: Path, tcp: Outcome, dfc: Outcome) -> None:
    """Figures 12 and 13: packets stored in each node at several instants."""
    figure, columns = subplots(SNAPSHOTS, 2, figsize=(10, 8), sharex=True, sharey=True)
    titles = (f"Fig. 12: {SIDES[0]}", f"Fig. 13: {SIDES[1]}")
    for column, outcome, title in zip(columns.T, (tcp, dfc), titles, strict=True):
        for axis, at in zip(column, _instants(tcp), strict=True):
            _snapshot(axis, outcome, at)
        column[0].set_title(title)
        column[-1].set_xlabel("node")
    figure.supylabel("packets stored in the node")
    save(figure, path)


def _instants(tcp: Outcome) -> list[float]:
    """Instants: soon after the background has joined, at TCP alone's peak in the bottleneck, and later."""
    column = tcp.queues[:, tcp.case.background_at - 1]
    peak = float(tcp.time_s[int(np.argmax(column))])
    joined = tcp.case.background_start_s
    later = np.linspace(joined, float(tcp.time_s[-1]), 4).tolist()
    return sorted({joined + 0.01, joined + 0.02, peak, *later[1:]})[:SNAPSHOTS]


def _snapshot(axis: Axes, outcome: Outcome, at: float) -> None:
    row = outcome.queues[int(np.searchsorted(outcome.time_s, at).clip(max=len(outcome.time_s) - 1))]
    axis.bar(np.arange(1, len(row) + 1), row, width=0.8, color=COLOURS[0])
    axis.axhline(outcome.case.buffer, linewidth=0.6, color=COLOURS[3], linestyle=":")
    axis.text(0.98, 0.8, f"{at:.3f} s", transform=axis.transAxes, ha="right")
