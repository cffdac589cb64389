"""Diffusion-type flow control beside the methods of other networks: drop-tail and ECN.

All run on the paper's line, with sources whose links have the line's rate (routers.py says why). ECN has
several thresholds, because none is right for all TCPs.

The rule: a method is as good as the paper says of DFC if in every run the target's efficiency is near 0.5 and
stable, flows share fairly and nothing is lost (`good`). ECN is as good if one threshold is, with all TCPs.
DFC needs the smallest buffer if the largest queue of every other method is longer by more than `NEAR`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from groupflow.study.claims import Claim, finding
from groupflow.study.experiment import grouped
from papers.takano.claims import FAIR, HALF, NEAR
from papers.takano.judge import Rule
from papers.takano.outcome import Outcome
from papers.takano.paper import CASES
from papers.takano.plan import Control, Run, repeated
from papers.takano.studies.study import label, labels, study

NAME = "rivals"
SCENARIO = "2"
METHODS: Mapping[Control, str] = {
    "drop-tail": "drop-tail", "ecn": "ECN, at every threshold,", "dfc": "DFC"
}  # fmt: skip
"""the subject of findings on each"""
TCPS = ("newreno", "cubic")
QUICK_TCPS = ("newreno",)
THRESHOLDS = (50, 100, 200, 400, 900)
"""waiting packets from which on ECN marks; the buffer has 1800, and 297 are on the line's links"""
QUICK_THRESHOLDS = (200,)
QUICK_SECONDS = 0.4
REPEATS = 3
"""runs of routers, which are cheap"""


def _runs(quick: bool, seed: int) -> list[Run]:
    case = CASES[SCENARIO].shortened(QUICK_SECONDS) if quick else CASES[SCENARIO]
    thresholds = QUICK_THRESHOLDS if quick else THRESHOLDS
    methods: list[tuple[Control, int | None]] = [
        ("drop-tail", None), *(("ecn", threshold) for threshold in thresholds), ("dfc", None)
    ]  # fmt: skip
    return [
        run
        for tcp in (QUICK_TCPS if quick else TCPS)
        for control, ecn in methods
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


def _lossless(*outcomes: Outcome) -> Iterator[Claim]:
    lost = sum(outcome.dropped + outcome.early_drops for outcome in outcomes)
    yield finding(NAME, "dfc-no-loss", "DFC loses no packet", lost, "packets", lost == 0, "none with any TCP")


def _good(control: Control, *outcomes: Outcome) -> Iterator[Claim]:
    count = sum(map(good, outcomes))
    share = count / len(outcomes)
    note = f"{count} of {len(outcomes)} runs; {GOOD}"
    yield finding(
        NAME, f"{control}-good", f"{METHODS[control]} shares the link in halves, steadily, without loss",
        share, "of the runs", share == 1, note,
    )  # fmt: skip


def _some_threshold(*outcomes: Outcome) -> Iterator[Claim]:
    by_threshold = grouped(outcomes, lambda outcome: outcome.run.ecn or 0)
    fine = [threshold for threshold, runs in by_threshold.items() if all(map(good, runs))]
    note = f"thresholds good with all TCPs: {', '.join(map(str, fine)) or 'none'}; {GOOD}"
    yield finding(
        NAME, "ecn-some-threshold", "ECN does so with all TCPs at some threshold", len(fine),
        "thresholds", bool(fine), note,
    )  # fmt: skip


def _least_stored(*outcomes: Outcome) -> Iterator[Claim]:
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
    yield finding(
        NAME, "dfc-smallest-queue", "DFC needs the smallest buffer in a node", worst,
        "packets, largest queue", not smaller, note,
    )  # fmt: skip


def _rules(runs: Sequence[Run]) -> Iterator[Rule]:
    yield Rule(labels(runs, "dfc"), _lossless)
    yield from (Rule(labels(runs, control), partial(_good, control)) for control in METHODS)
    yield Rule(labels(runs, "ecn"), _some_threshold)
    yield Rule(labels(runs, *METHODS), _least_stored)


STUDY = study(NAME, "drop-tail and ECN on the same line", _runs, _rules)
