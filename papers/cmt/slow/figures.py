"""Delay of hosts behind the source over time, and their goodput."""

from pathlib import Path

from groupflow.study.drawing import COLOURS, PALE, Axes, save, subplots
from papers.cmt.slow.outcome import Outcome, Outcomes, of
from papers.cmt.slow.plan import DEMOTIONS, MODES, SLOW_AT_S

TITLES = {
    "never": "nobody is moved",
    "largest_latency": "the farthest is moved",
    "slowest": "the slow one is moved",
}
KINDS = (
    ("slow", "the slow one", PALE),
    ("others", "others", COLOURS[0]),
    ("below", "were below it", COLOURS[1]),
)
LEAST_LAG = 0.02
"""s; smaller delays are drawn here, on a logarithmic axis"""


def slow_host(path: Path, outcomes: Outcomes) -> None:
    """Draws a column for each rule, a row for each mode, and a line for each run and kind of host."""
    from matplotlib.lines import Line2D

    modes = [mode for mode in MODES if any(o.run.mode == mode for o in outcomes)]
    drawing, panels = subplots(
        len(modes), len(DEMOTIONS), figsize=(9.6, 0.6 + 2.2 * len(modes)), sharex=True, sharey=True
    )
    for row, mode in enumerate(modes):
        for column, demotion in enumerate(DEMOTIONS):
            panel: Axes = panels[row][column]
            for outcome in of(outcomes, demotion, mode):
                _lines(panel, outcome)
            panel.axvline(SLOW_AT_S, color="#000000", linewidth=0.6, linestyle=":")
            panel.set(yscale="log", ylim=(LEAST_LAG, 60))
            if row == 0:
                panel.set_title(TITLES[demotion], fontsize="medium")
            if row == len(modes) - 1:
                panel.set_xlabel("Time in the stream [s]")
            if column == 0:
                panel.set_ylabel(f"{mode}\nBehind the source, last [s]")
    panels[0][0].legend(
        handles=[Line2D([], [], color=colour, label=label) for _, label, colour in KINDS],
        fontsize="small",
        loc="center right",
    )
    save(drawing, path)


def _lines(panel: Axes, outcome: Outcome) -> None:
    for kind, _, colour in KINDS:
        found = [(look.at, getattr(look, kind)) for look in outcome.looks]
        there = [(at, max(lag, LEAST_LAG)) for at, lag in found if lag is not None]
        panel.plot([at for at, _ in there], [lag for _, lag in there], color=colour, linewidth=1.0, alpha=0.8)
