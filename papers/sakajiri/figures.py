"""The paper's figures 3, 5, 6 and 7 and its Table II: throughput against time, of the first seed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

from groupflow.study.drawing import COLOURS, PALE, Axes, bar, panel, save, subplots
from groupflow.study.drawing import line as look
from papers.sakajiri.claims import MODEL_1, MODEL_2, over
from papers.sakajiri.outcome import Outcome, Outcomes
from papers.sakajiri.paper import HIGH, LOW, NAMES, TABLE_II, TCPS, Case

SHOWN = ("t0", "t1", "t3", "t4")
"""the paper's choice: two clients of low, two of high priority"""
SMOOTH = 10
"""rounds whose mean is one point of a line: 5 s"""


@dataclass(frozen=True)
class Figure:
    """One figure of the paper, or its table."""

    title: str
    cases: Collection[Case]
    draw: Callable[[str, Path, Outcomes], None]
    """draws with this title"""


def line(axis: Axes, outcome: Outcome, names: Sequence[str], label: str, **style: object) -> None:
    """Draws the mean throughput of these clients against time."""
    series = [outcome.series[name] for name in names if name in outcome.series]
    rates = [fmean(rates) for rates in zip(*(each.mbps for each in series), strict=True)]
    smooth = [fmean(rates[max(0, n - SMOOTH + 1) : n + 1]) for n in range(len(rates))]
    axis.plot(series[0].ends_s, smooth, label=label, linewidth=1.2, **style)


def targets(axis: Axes, outcome: Outcome) -> None:
    """Draws the targets, and the time of the interference."""
    for target in (1.0, 0.5):
        axis.axhline(target, color="black", linewidth=0.7, linestyle=":")
    if outcome.run.case.interference:
        axis.axvspan(*outcome.run.interference_s, color=PALE, alpha=0.35, linewidth=0)
    axis.set(xlabel="Time [s]", ylabel="Throughput [Mb/s]", ylim=(0, 2.4), xlim=(0, outcome.run.seconds))


def _by_group(cases: Mapping[str, Case], title: str, path: Path, found: Outcomes) -> None:
    """Draws averages of high and of low priority clients."""
    with panel(path, (6.4, 3.8), ncols=2) as axis:
        for number, (name, case) in enumerate(cases.items()):
            colour = COLOURS[number]
            line(axis, found[case][0], HIGH, f"{name}, high priority", color=colour)
            line(axis, found[case][0], LOW, f"{name}, low priority", color=colour, linestyle="--")
        targets(axis, next(iter(found.values()))[0])
        axis.set_title(title)


def _by_terminal(case: Case, title: str, path: Path, found: Outcomes) -> None:
    """Draws Terminals 0 and 1 of low, 3 and 4 of high priority."""
    with panel(path, (6.4, 3.8), ncols=2) as axis:
        for number, name in enumerate(SHOWN):
            line(axis, found[case][0], (name,), f"Terminal {name[1]}", **look(number))
        targets(axis, found[case][0])
        axis.set_title(title)


def _table(title: str, path: Path, found: Outcomes) -> None:
    """Draws bars beside the paper's figures."""
    drawing, axis = subplots(figsize=(5.6, 3.6))
    for place, tcp in enumerate(TCPS):
        for names, paper, offset in ((HIGH, TABLE_II[tcp][0], -0.2), (LOW, TABLE_II[tcp][1], 0.2)):
            style = bar(0 if names is HIGH else 1)
            axis.bar(place + offset, over(found[Case("both", tcp)], names), 0.36, **style)
            axis.plot(place + offset, paper, marker="D", color="black", markersize=4)
    axis.set_xticks(range(len(TCPS)), list(TCPS.values()))
    axis.set(ylabel="Average throughput [Mb/s]", ylim=(0, 2.0))
    axis.set_title(title)
    save(drawing, path)


_TCP_CASES = {TCPS[tcp]: Case("both", tcp) for tcp in ("cubic", "reno")}
_METHODS = {NAMES[method]: case for method, case in MODEL_1.items()}

FIGURES: dict[str, Figure] = {
    "figure-3": Figure("Fig. 3: Model 1", MODEL_1.values(), partial(_by_group, _METHODS)),
    "figure-5": Figure(
        "Fig. 5: Model 2, only buffers tuned", [MODEL_2["buffer"]], partial(_by_terminal, MODEL_2["buffer"])
    ),
    "figure-6": Figure(
        "Fig. 6: Model 2, buffers and connections tuned",
        MODEL_2.values(),
        partial(_by_terminal, MODEL_2["both"]),
    ),
    "figure-7": Figure("Fig. 7: Model 1", _TCP_CASES.values(), partial(_by_group, _TCP_CASES)),
    "table-2": Figure(
        "Table II: high and low priority; diamonds are the paper's",
        [Case("both", tcp) for tcp in TCPS],
        _table,
    ),
}
"""figures by the name of their files"""
