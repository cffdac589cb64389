"""The largest D and alpha: a sweep against the stability limits of the discretised diffusion equation.

Theory is linear, for a long line of equal links (see `control.diffusion.stability`), and has two limits:

- `limit(alpha)`, 1 for alpha = 1: rates follow eq. 2, and a node's report carries its neighbour's n.
- `limit(0)`, 1/3: r is bounded (eq. 1: by the link's free rate, or by 0) and tells nothing of n any more.

Below the smaller limit all disturbances die out; beyond the larger none does. Between them a disturbance
that reaches the bounds may stay. The rule: the theory is right about a zone if at each of its points, but for
those within a tenth of a limit, queues rest, or swing by more than a tenth of a link's packets, as it says.

Two lines are run: `one`, a flow whose host does not shape, so that its packets wait in queues, through a
last link of half the rate, where slow start is the disturbance; and `two`, the paper's two flows, which share
a link by eq. 13, where the background's join is. `swing` is the largest standard deviation of a node's
queue long after. Near D = 1 queues alternate with a period of two link delays; a sample every 0.7 sees that.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from groupflow.control.diffusion.stability import growth
from groupflow.study.claims import Claim, finding
from groupflow.study.drawing import COLOURS, GREY, Axes, save, subplots
from groupflow.study.experiment import grouped
from papers.takano.judge import Rule
from papers.takano.outcome import Outcome, Outcomes
from papers.takano.paper import CASES, LINK_DELAY_NS
from papers.takano.plan import Run
from papers.takano.studies.study import label, study

NAME = "stability"
DS = (0.1, 0.2, 0.28, 0.4, 0.55, 0.7, 0.85, 1.15, 1.5)
ALPHAS = (1.0, 1.125)
POINTS = {"one": tuple((d, alpha) for alpha in ALPHAS for d in DS), "two": tuple((d, 1.0) for d in DS)}
QUICK_POINTS = dict.fromkeys(POINTS, ((0.1, 1.0), (1.5, 1.0)))
SECONDS, QUICK_SECONDS = 0.3, 0.2
SAMPLE_NS = LINK_DELAY_NS * 7 // 10
WINDOW = 4_000
"""window of the flow of line `one`, packets: 770 are under way and 160 wait in each node"""

SWINGS = 0.1
"""swing over a link's packets above which queues swing; else they rest"""
UNDECIDED = 0.1
"""relative distance from a limit within which D is drawn but not judged: coefficients are up to 2.5 % off"""
_ROUNDING = 1e-6
_BISECTIONS = 16


@cache
def limit(alpha: float) -> float:
    """The largest stable D, up to 2; alpha 0 stands for bounded reports."""
    low, high = 0.0, 2.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if growth(middle, alpha) <= 1 + _ROUNDING else (low, middle)
    return low


def zone(d: float, alpha: float) -> str:
    """The zone of the point by theory; "" if it is too near to a limit."""
    bounded, free = sorted((limit(0.0), limit(alpha)))
    if any(abs(d - at) <= UNDECIDED * at for at in (bounded, free)):
        return ""
    return "below" if d < bounded else "beyond" if d > free else "between"


def relative_swing(outcome: Outcome) -> float:
    """The swing over the packets that a link holds."""
    return outcome.swing / outcome.case.link_packets


def _runs(quick: bool, seed: int) -> list[Run]:
    base = CASES["4S"]
    slow_end = (base.bandwidth_bps,) * (base.nodes - 2) + (base.bandwidth_bps // 2,)
    lines = {
        "one": replace(base, rates_bps=slow_end, window=WINDOW, background_start_s=math.inf),
        "two": base,
    }
    seconds, points = (QUICK_SECONDS, QUICK_POINTS) if quick else (SECONDS, POINTS)
    return [
        Run(
            label(NAME, line, "d", d, "alpha", alpha),
            replace(lines[line].shortened(seconds), diffusion=d, alpha=alpha),
            "dfc",
            seed=seed,
            shaped=line == "two",
            sample_ns=SAMPLE_NS,
        )
        for line in lines
        for d, alpha in points[line]
    ]


def _line(run: Run) -> str:
    return "two" if run.shaped else "one"


_EXPECTED = {
    "below": "below both limits queues come to rest",
    "between": "between the limits, too, queues come to rest",
    "beyond": "beyond both limits queues swing",
}
_LINES = {"one": "one flow", "two": "two flows that share"}


def _in_zone(line: str, where: str, *outcomes: Outcome) -> Iterator[Claim]:
    """The finding on all points of a line in one zone."""
    beyond = where == "beyond"
    swings = {(o.case.diffusion, o.case.alpha): relative_swing(o) for o in outcomes}
    against = [point for point, swing in swings.items() if (swing > SWINGS) != beyond]
    listed = "; ".join(f"D {d:g} alpha {alpha:g}: {swings[d, alpha]:.2f}" for d, alpha in against)
    yield finding(
        NAME, f"{line}-{where}", f"{_LINES[line]}: {_EXPECTED[where]}",
        min(swings.values()) if beyond else max(swings.values()),
        f"{'smallest' if beyond else 'largest'} swing over a link's packets", not against,
        f"{len(swings) - len(against)} of {len(swings)} points; swing: above {SWINGS:g}"
        + (f"; against it: {listed}" if listed else ""),
    )  # fmt: skip


def _rules(runs: Sequence[Run]) -> list[Rule]:
    places = grouped(runs, lambda run: (_line(run), zone(run.case.diffusion, run.case.alpha)))
    return [
        Rule(tuple(run.label for run in places[line, where]), partial(_in_zone, line, where))
        for line in _LINES
        for where in _EXPECTED
        if (line, where) in places
    ]


def _draw(path: Path, outcomes: Outcomes) -> None:
    figure, (left, right) = subplots(1, 2, figsize=(11, 4.4))
    ran = [runs[0] for runs in outcomes.values()]
    _map(left, ran)
    _along_the_line(right, [o for o in ran if o.case.alpha == 1 and _line(o.run) == "one"])
    save(figure, path)


def _map(axis: Axes, outcomes: Sequence[Outcome]) -> None:
    """Draws the map; points of two flows are below those of one."""
    from matplotlib.colors import LogNorm

    ds = [outcome.case.diffusion for outcome in outcomes]
    heights = [outcome.case.alpha - (0.08 if _line(outcome.run) == "two" else 0) for outcome in outcomes]
    swings = np.maximum([relative_swing(outcome) for outcome in outcomes], 1e-3)
    norm = LogNorm(SWINGS / 10, SWINGS * 10)  # the bound is in the middle of the colours
    dots = axis.scatter(ds, heights, c=swings, norm=norm, cmap="cividis", s=80, edgecolor=GREY)
    lines = [1 + step / 100 for step in range(21)]
    axis.plot([limit(alpha) for alpha in lines], lines, color=COLOURS[6], label="limit, r not bounded")
    axis.axvline(limit(0.0), color=COLOURS[6], linestyle=":", label="limit, r bounded")
    axis.set(xlabel="D", ylabel="alpha", xscale="log", title="one flow, and two that share a link")
    axis.text(0.085, 0.935, "two flows", fontsize="small")
    axis.text(0.085, 1.015, "one flow", fontsize="small")
    axis.set_xticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
    axis.legend(loc="upper right")
    axis.figure.colorbar(dots, ax=axis, extend="both", label="swing of the queues (packets of a link)")


def _along_the_line(axis: Axes, outcomes: Sequence[Outcome]) -> None:
    from matplotlib import colormaps

    colours = colormaps["cividis"]
    for place, outcome in enumerate(outcomes):
        nodes = np.arange(1, outcome.case.nodes)
        swings = np.maximum(outcome.swings[:-1], 0.1)
        colour = colours(place / max(len(outcomes) - 1, 1))
        look = {"marker": "os^Dv"[place % 5], "markersize": 4, "color": colour}
        axis.plot(nodes, swings, label=f"D = {outcome.case.diffusion:g}", **look)
    axis.set(xlabel="node", ylabel="swing: standard deviation (packets)", yscale="log")
    axis.set_title("one flow, alpha = 1: each queue")
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


STUDY = study(NAME, "D and alpha against the stability limits", _runs, _rules, _draw)
