"""One figure for a scenario and a TCP: what each method does to the target flow, and where packets wait."""

# matplotlib does not type its keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from experiments.takano.outcome import Outcome

COLOURS = ("#1f4e79", "#c06010", "#2e7d32", "#8e2430", "#555555")


def rivals(path: Path, outcomes: Mapping[str, Outcome]) -> None:
    """Efficiency over time for each method, and packets stored by node. All outcomes are of one case."""
    cases = {outcome.case.name: outcome.case for outcome in outcomes.values()}
    if len(cases) != 1:
        raise ValueError(f"a figure is of one scenario, not of {sorted(cases) or 'none'}")
    (case,) = cases.values()
    colours = {method: COLOURS[place % len(COLOURS)] for place, method in enumerate(outcomes)}
    figure = plt.figure(figsize=(11, 1.8 + 1.5 * len(outcomes)), layout="constrained")
    grid = figure.add_gridspec(len(outcomes), 2)
    _efficiency(figure.add_subplot(grid[:, 0]), outcomes, colours)
    below: Axes | None = None
    for place, (method, outcome) in reversed(list(enumerate(outcomes.items()))):
        axis = figure.add_subplot(grid[place, 1], sharex=below, sharey=below)
        _stored(axis, method, outcome, colours[method])
        if below is None:
            axis.set_xlabel("node")
        below = below or axis
    tcps = " and ".join(dict.fromkeys(outcome.case.tcp for outcome in outcomes.values()))
    figure.suptitle(f"scenario {case.name}, TCP {tcps}")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _efficiency(axis: Axes, outcomes: Mapping[str, Outcome], colours: Mapping[str, str]) -> None:
    for method, outcome in outcomes.items():
        axis.plot(outcome.time_s, outcome.efficiency, linewidth=0.8, color=colours[method], label=method)
    axis.axhline(0.5, linewidth=0.6, color="#888888", linestyle=":")
    axis.set(xlabel="time (s)", ylabel="efficiency of the target flow", ylim=(0, 1.02))
    axis.grid(alpha=0.25)
    axis.legend(loc="upper right")


def _stored(axis: Axes, method: str, outcome: Outcome, colour: str) -> None:
    nodes = list(range(1, outcome.case.nodes + 1))
    axis.bar(nodes, outcome.queues[outcome.settled].mean(axis=0), width=0.8, color=colour)
    axis.step(nodes, outcome.queues.max(axis=0), where="mid", linewidth=0.8, color="#222222")
    axis.axhline(outcome.case.buffer, linewidth=0.6, color="#b03030", linestyle=":")
    axis.set_title(f"{method}: packets stored, mean (bar) and most (line)", fontsize="small")
    axis.grid(alpha=0.25)
