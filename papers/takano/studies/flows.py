"""Three and more flows that join the line at different nodes: shares and losses.

The rule: the control serves more than two flows if with every number of them the paper's claims on it hold,
each flow's share being one of as many, and the last link is used up to `NEAR`, while TCP alone loses packets.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from groupflow.study.claims import Claim, finding
from groupflow.study.drawing import GREY, Axes, line, save, subplots
from papers.takano.claims import NEAR
from papers.takano.judge import Rule
from papers.takano.outcome import Outcome, Outcomes
from papers.takano.paper import CASES, Case, Source
from papers.takano.plan import Run
from papers.takano.studies.study import alone_finding, control_findings, label, labels, study

NAME = "flows"
COUNTS = (3, 4, 6)
"""numbers of flows; a port has queues for six"""
QUICK_COUNTS = (3,)
APART_S, QUICK_APART_S = 0.06, 0.04
"""time between two joins; the last flow has three times that for itself"""
WHERE = "with three and more flows"
SMOOTHED_MS = 5


def case_with(count: int, apart_s: float) -> Case:
    """Scenario 4S with so many flows, which join one after another, each farther down the line."""
    case = CASES["4S"]
    nodes = np.linspace(1, case.nodes - 2, count).round().astype(int).tolist()
    joining = [Source(f"flow{n}", nodes[n - 1], (n - 1) * apart_s) for n in range(3, count + 1)]
    return replace(
        case,
        name=f"{count} flows",
        background_at=nodes[1],
        background_start_s=apart_s,
        joining=tuple(joining),
        seconds=(count + 2) * apart_s,
    )


def _runs(quick: bool, seed: int) -> list[Run]:
    counts, apart_s = (QUICK_COUNTS, QUICK_APART_S) if quick else (COUNTS, APART_S)
    return [
        Run(label(NAME, count, control), case_with(count, apart_s), control, seed=seed)
        for count in counts
        for control in ("tcp", "dfc")
    ]


def _full(*outcomes: Outcome) -> list[Claim]:
    least = min(outcome.link_use for outcome in outcomes)
    note = f"at least {1 - NEAR:g} in each"
    return [
        finding(
            NAME, "dfc-full", f"with DFC the last link is full {WHERE}", least, "of it used, at least",
            least >= 1 - NEAR, note,
        )
    ]  # fmt: skip


def _rules(runs: Sequence[Run]) -> list[Rule]:
    controlled = labels(runs, "dfc")
    return [
        Rule(controlled, lambda *outcomes: control_findings(NAME, WHERE, outcomes)),
        Rule(controlled, _full),
        Rule(labels(runs, "tcp"), lambda *outcomes: [alone_finding(NAME, WHERE, outcomes)]),
    ]


def _draw(path: Path, outcomes: Outcomes) -> None:
    ran = [runs[0] for runs in outcomes.values()]
    names = list(dict.fromkeys(outcome.case.name for outcome in ran))
    figure, axes = subplots(2, len(names), figsize=(1.4 + 2.6 * len(names), 4.6), sharey=True, squeeze=False)
    for outcome in ran:
        axis = axes[int(outcome.run.control == "dfc"), names.index(outcome.case.name)]
        _shares(axis, outcome)
        axis.set_title(f"{outcome.case.name}, {'with DFC' if outcome.run.control == 'dfc' else 'TCP alone'}")
    for axis in axes[-1]:
        axis.set_xlabel("time (s)")
    for axis in axes[:, 0]:
        axis.set_ylabel("share of the link's rate")
    save(figure, path)


def _shares(axis: Axes, outcome: Outcome) -> None:
    kernel = np.ones(SMOOTHED_MS) / SMOOTHED_MS
    for place, source in enumerate(outcome.case.sources):
        share = outcome.throughput_bps[source.flow] / outcome.case.goodput_bps
        smooth = np.convolve(share, kernel, mode="valid")
        axis.plot(
            outcome.time_s[SMOOTHED_MS - 1 :],
            smooth,
            linewidth=0.9,
            label=f"from node {source.node}",
            **line(place),
        )
    axis.axhline(1 / len(outcome.case.sources), linewidth=0.7, color=GREY, linestyle=":")
    axis.set_ylim(0, 1.02)
    if outcome.run.control == "dfc":  # of the panel above, too
        axis.legend(loc="upper right")


STUDY = study(NAME, "three and more flows that join at different nodes", _runs, _rules, _draw)
