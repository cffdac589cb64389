"""The paper's figures 6 to 19: without diffusion-type flow control on the left, with it on the right."""

# matplotlib does not type its keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from experiments.takano.outcome import Outcome
from experiments.takano.paper import BACKGROUND_START_S

SNAPSHOTS = 5
"""instants in figures 12 and 13"""
SIDES = ("TCP without DFC", "TCP with DFC")


def efficiency(path: Path, tcp: Outcome, dfc: Outcome) -> None:
    """Figures 6 to 11 and 14 to 19: network efficiency over time."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), sharey=True, layout="constrained")
    for axis, outcome, side in zip(axes, (tcp, dfc), SIDES, strict=True):
        axis.plot(outcome.time_s, outcome.efficiency, linewidth=0.7, color="#1f4e79")
        axis.axhline(0.5, linewidth=0.6, color="#888888", linestyle=":")
        axis.set(title=side, xlabel="time (s)", ylim=(0, 1), xlim=(0, outcome.case.seconds))
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("efficiency of the network")
    figure.suptitle(f"{tcp.case.figure}: scenario {tcp.case.name}")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def stored(path: Path, tcp: Outcome, dfc: Outcome) -> None:
    """Figures 12 and 13: packets stored in each node at several instants."""
    figure, columns = plt.subplots(
        SNAPSHOTS, 2, figsize=(10, 8), sharex=True, sharey=True, layout="constrained"
    )
    titles = (f"Fig. 12: {SIDES[0]}", f"Fig. 13: {SIDES[1]}")
    for column, outcome, title in zip(columns.T, (tcp, dfc), titles, strict=True):
        for axis, at in zip(column, _instants(tcp), strict=True):
            _snapshot(axis, outcome, at)
        column[0].set_title(title)
        column[-1].set_xlabel("node")
    figure.supylabel("packets stored in the node")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _instants(tcp: Outcome) -> list[float]:
    """Soon after the background has joined, when TCP alone has most at the bottleneck, and later."""
    column = tcp.queues[:, tcp.case.background_at - 1]
    peak = float(tcp.time_s[int(np.argmax(column))])
    joined = BACKGROUND_START_S
    later = np.linspace(joined, float(tcp.time_s[-1]), 4).tolist()
    return sorted({joined + 0.01, joined + 0.02, peak, *later[1:]})[:SNAPSHOTS]


def _snapshot(axis: Axes, outcome: Outcome, at: float) -> None:
    row = outcome.queues[int(np.searchsorted(outcome.time_s, at).clip(max=len(outcome.time_s) - 1))]
    axis.bar(np.arange(1, len(row) + 1), row, width=0.8, color="#1f4e79")
    axis.axhline(outcome.case.buffer, linewidth=0.6, color="#b03030", linestyle=":")
    axis.text(0.98, 0.8, f"{at:.3f} s", transform=axis.transAxes, ha="right")
