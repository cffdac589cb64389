"""Diffusion-type flow control beside the methods of other networks: drop-tail, ECN, and XOFF hop by hop.

All run on the paper's line, with sources whose links have the line's rate (routers.py says why). ECN has
several thresholds, because none is right for all TCPs.

The rule: a method is as good as the paper says of DFC if in every run the target's efficiency is near 0.5 and
stable, flows share fairly and nothing is lost (`good`); ECN, if it is at some threshold with all TCPs. DFC
needs the smallest buffer if the largest queue of every other is longer by a twentieth at least.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from groupflow.study.claims import Claim, finding
from groupflow.study.drawing import COLOURS, GREY, Axes, bar, blank, save
from papers.takano.claims import FAIR, HALF, NEAR
from papers.takano.judge import Rule
from papers.takano.outcome import Outcome, Outcomes
from papers.takano.paper import CASES
from papers.takano.plan import Control, Run, repeated
from papers.takano.studies.study import label, labels, study

NAME = "rivals"
SCENARIO = "2"
TCPS = ("newreno", "cubic")
QUICK_TCPS = ("newreno",)
THRESHOLDS = (50, 100, 200, 400, 900)
"""waiting packets from which on ECN marks; the buffer has 1800, and 297 are on the line's links"""
QUICK_THRESHOLDS = (200,)
QUICK_SECONDS = 0.4
REPEATS = 3
"""runs of routers, which are cheap"""
SHOWN_THRESHOLD = 200
SHOWN_TCP = "newreno"


def methods(thresholds: Sequence[int]) -> list[tuple[Control, int | None]]:
    """Each method with its threshold, in the order of the figure."""
    return [
        ("drop-tail", None),
        *(("ecn", threshold) for threshold in thresholds),
        ("xoff", None),
        ("dfc", None),
    ]


def _runs(quick: bool, seed: int) -> list[Run]:
    case = CASES[SCENARIO].shortened(QUICK_SECONDS) if quick else CASES[SCENARIO]
    return [
        run
        for tcp in (QUICK_TCPS if quick else TCPS)
        for control, ecn in methods(QUICK_THRESHOLDS if quick else THRESHOLDS)
        for run in repeated(
            Run(_label(tcp, control, ecn), replace(case, tcp=tcp), control, seed=seed, paced=True, ecn=ecn),
            1 if quick or control == "dfc" else REPEATS,
        )
    ]


def _label(tcp: str, control: Control, ecn: int | None) -> str:
    return label(NAME, tcp, control, *([] if ecn is None else [ecn]))


def good(outcome: Outcome) -> bool:
    """Whether an outcome is as good as the paper says of DFC: near half, stable, fair, without loss."""
    return (
        abs(outcome.mean_efficiency - HALF) <= NEAR
        and outcome.efficiency_spread <= NEAR
        and outcome.fairness >= FAIR
        and outcome.dropped + outcome.early_drops == 0
    )


GOOD = f"near {HALF} and stable (within {NEAR}), fairness at least {FAIR}, no loss"


def _lossless(control: str, outcomes: Sequence[Outcome]) -> list[Claim]:
    lost = sum(outcome.dropped + outcome.early_drops for outcome in outcomes)
    words = {"xoff": "XOFF loses no packet", "dfc": "DFC loses no packet"}[control]
    return [finding(NAME, f"{control}-no-loss", words, lost, "packets", lost == 0, "none with any TCP")]


def _good(control: str, outcomes: Sequence[Outcome]) -> list[Claim]:
    words = {"xoff": "XOFF", "dfc": "DFC", "drop-tail": "drop-tail", "ecn": "ECN, at every threshold,"}[
        control
    ]
    count = sum(map(good, outcomes))
    share = count / len(outcomes)
    note = f"{count} of {len(outcomes)} runs; {GOOD}"
    return [
        finding(
            NAME, f"{control}-good", f"{words} shares the link in halves, steadily, without loss", share,
            "of the runs", share == 1, note,
        )
    ]  # fmt: skip


def _some_threshold(outcomes: Sequence[Outcome]) -> list[Claim]:
    by_threshold: dict[int, list[Outcome]] = {}
    for outcome in outcomes:
        by_threshold.setdefault(outcome.run.ecn or 0, []).append(outcome)
    fine = [threshold for threshold, runs in by_threshold.items() if all(map(good, runs))]
    note = f"thresholds good with all TCPs: {', '.join(map(str, fine)) or 'none'}; {GOOD}"
    return [
        finding(
            NAME, "ecn-some-threshold", "ECN does so with all TCPs at some threshold", len(fine),
            "thresholds", bool(fine), note,
        )
    ]  # fmt: skip


def _least_stored(*outcomes: Outcome) -> list[Claim]:
    """The claim that no rival of the same TCP has as small a largest queue as DFC."""
    most = {
        tcp: max(o.fullest_queue for o in outcomes if o.run.control == "dfc" and o.case.tcp == tcp)
        for tcp in {o.case.tcp for o in outcomes}
    }
    rivals = [o for o in outcomes if o.run.control != "dfc"]
    smaller = [
        f"{o.run.label.removeprefix('study-rivals-')} {o.fullest_queue:.0f}"
        for o in rivals
        if o.fullest_queue <= most[o.case.tcp] * (1 + NEAR)
    ]
    note = f"all others' are more than {NEAR:.0%} longer; not so: {', '.join(smaller) or 'none'}"
    worst = max(most.values())
    return [
        finding(
            NAME, "dfc-smallest-queue", "DFC needs the smallest buffer in a node", worst,
            "packets, largest queue", not smaller, note,
        )
    ]  # fmt: skip


def _rules(runs: Sequence[Run]) -> list[Rule]:
    def several(judge: Callable[[Sequence[Outcome]], list[Claim]], *controls: Control) -> Rule:
        return Rule(labels(runs, *controls), lambda *outcomes: judge(outcomes))

    each: tuple[Control, ...] = ("drop-tail", "ecn", "xoff", "dfc")
    lossless: tuple[Control, ...] = ("xoff", "dfc")
    return [
        *(several(partial(_lossless, control), control) for control in lossless),
        *(several(partial(_good, control), control) for control in each),
        several(_some_threshold, "ecn"),
        Rule(labels(runs, *each), _least_stored),
    ]


def _draw(path: Path, outcomes: Outcomes) -> None:
    ran = list(outcomes.values())
    tcps = tuple(dict.fromkeys(runs[0].case.tcp for runs in ran))
    figure = blank((11, 7.5))
    upper, lower = figure.subfigures(2, 1, height_ratios=(2, 3))
    tcp = SHOWN_TCP if SHOWN_TCP in tcps else tcps[0]
    firsts = [runs[0] for runs in ran if runs[0].case.tcp == tcp]
    shown = [outcome for outcome in firsts if outcome.run.ecn in (None, SHOWN_THRESHOLD)]
    axes = list(upper.subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0])
    for axis, outcome in zip(axes, shown, strict=True):
        _stored(axis, outcome)
    axes[0].set_ylabel("packets stored")
    upper.suptitle(f"{tcp}: mean (bars) and most (line) stored in each node; buffer 1800")
    below = list(lower.subplots(1, len(_BARS), sharey=True, squeeze=False)[0])
    for axis, (title, value, scale) in zip(below, _BARS, strict=True):
        _bars(axis, ran, tcps, value)
        axis.set_title(title)
        if scale == "symlog":
            axis.set_xscale("symlog", linthresh=1)
    below[0].axvline(HALF, linewidth=0.7, color=COLOURS[6], linestyle=":")
    below[0].invert_yaxis()
    below[-1].legend()
    save(figure, path)


def _bars(
    axis: Axes, ran: Sequence[Sequence[Outcome]], tcps: Sequence[str], value: Callable[[Outcome], float]
) -> None:
    """Draws means over the runs, with their range."""
    names = list(dict.fromkeys(_method(runs[0]) for runs in ran))
    height = 0.8 / len(tcps)
    for place, tcp in enumerate(tcps):
        rows = [runs for runs in ran if runs[0].case.tcp == tcp]
        where = [names.index(_method(runs[0])) + (place - (len(tcps) - 1) / 2) * height for runs in rows]
        values = [[value(outcome) for outcome in runs] for runs in rows]
        means = [sum(each) / len(each) for each in values]
        ends = [[mean - min(v), max(v) - mean] for mean, v in zip(means, values, strict=True)]
        errors = np.maximum(np.array(ends).T, 0)
        axis.barh(where, means, height=height, label=tcp, xerr=errors, ecolor=GREY, capsize=2, **bar(place))
    axis.set_yticks(range(len(names)), names)


_BARS: tuple[tuple[str, Callable[[Outcome], float], str], ...] = (
    ("target's efficiency", lambda o: o.mean_efficiency, "linear"),
    ("its standard deviation", lambda o: o.efficiency_spread, "linear"),
    ("fairness", lambda o: o.fairness, "linear"),
    ("packets lost", lambda o: o.dropped + o.early_drops, "symlog"),
    ("largest queue", lambda o: o.fullest_queue, "linear"),
)


def _method(outcome: Outcome) -> str:
    names = {"drop-tail": "drop-tail", "ecn": f"ECN at {outcome.run.ecn}", "xoff": "XOFF", "dfc": "DFC"}
    return names[outcome.run.control]


def _stored(axis: Axes, outcome: Outcome) -> None:
    nodes = np.arange(1, outcome.case.nodes + 1)
    axis.bar(nodes, outcome.queues[outcome.settled].mean(axis=0), width=0.8, color=COLOURS[0])
    axis.step(nodes, outcome.queues.max(axis=0), where="mid", linewidth=0.8, color=COLOURS[6])
    axis.set(title=f"{_method(outcome)}: at most {outcome.fullest_queue:.0f}", xlabel="node")


STUDY = study(NAME, "drop-tail, ECN and hop-by-hop XOFF on the same line", _runs, _rules, _draw)
