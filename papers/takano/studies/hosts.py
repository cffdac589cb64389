"""Readings of what the paper leaves open: its hosts, eq. 1 while another flow leaves its share, and whose the
buffer is. With Vegas also gamma, the packets in queues that end its slow start, which ns-2 has at 1.

The rule: a reading explains what the paper says of some scenarios if all of its claims on them hold, alone
and with the control, in the first run as everywhere, and no packet is lost before the background joins: the
paper's losses begin with it. The figures whose claims all hold are named.

Lines of 3.7 Gb/s and more run for 0.25 s: 25 round trips of 30 nodes after the background has joined, at
0.1 s as in the paper. Those of 60 nodes, and Vegas, run twice as long.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from groupflow.study.claims import Claim, finding
from groupflow.study.experiment import AnyStudy, grouped
from papers.takano import plan
from papers.takano.claims import RULES
from papers.takano.judge import evaluate
from papers.takano.outcome import SIMULATION, Outcome, Outcomes
from papers.takano.paper import BACKGROUND, CASES, MEGABIT, TARGET, Case
from papers.takano.plan import Control, Run, repeated
from papers.takano.studies.study import label

SHORT_BPS, SHORT_S, QUICK_S = 3_700 * MEGABIT, 0.25, 0.04
"""rate from which on a scenario is shortened, and its length"""
GAMMAS = (1, 100)
QUEUES = (Case.buffer, 25_000, 50_000)
"""bounds of a host's queue: a node's; and two chosen by Fig. 11, between the windows of scenarios 5 and 6"""
TAKES_PART: Mapping[str, Any] = {"paced": True, "taking": (TARGET,)}
BOTH: Mapping[str, Any] = {"paced": True, "taking": (TARGET, BACKGROUND)}
READINGS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "shaped": ("hosts send at once, and shape", {}),
    **{f"queue-{n}": (f"hosts shape, and have a queue of {n:,} packets", {"host_queue": n}) for n in QUEUES},
    "bound": ("hosts shape, and L bounds rates (eq. 1)", {"bound": True}),
    "target": ("the target's host takes part (n_0)", TAKES_PART),
    "both": ("both hosts take part", BOTH),
    "target-bound": ("the target's host takes part, and L bounds rates", {**TAKES_PART, "bound": True}),
    "both-bound": ("both hosts take part, and L bounds rates", {**BOTH, "bound": True}),
    "target-bound-pool": (
        "the target's host takes part, L bounds rates, and flows share a node's buffer",
        {**TAKES_PART, "bound": True, "pool": True},
    ),
}
"""words, and what differs from a run of the paper's scenario"""
CONTROLS: Mapping[Control, str] = {"tcp": "TCP alone", "dfc": "with DFC"}
SUBJECTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "hosts": ("lines of section 4 up to 3.7 Gb/s", ("1", "2", "3")),
    "hosts-fast": ("lines of section 4 from 37 Gb/s", ("5", "6")),
    "hosts-size": ("the sizes of section 5", ("4S", "4", "4L")),
    "hosts-tcp": ("Reno and NewReno, section 6", ("4", "4R", "4N")),
    "hosts-vegas": ("Vegas, and its gamma of 1 and 100", ("4V", "4V2")),
}
"""by study; a scenario of two of them is run once"""
SEEDS = {"1": 2, "3": 3, "4S": 2, "4": 2}
"""runs of each, by scenario (others: one), which differ as those of the paper's scenarios do"""


def _runs(names: Sequence[str], quick: bool, seed: int) -> list[Run]:
    first = [
        Run(_label(reading, case, control), case, control, seed=seed, **(differs if control == "dfc" else {}))
        for name in names
        for case in _cases(name, quick)
        for reading, (_, differs) in READINGS.items()
        for control in CONTROLS
    ]
    return [
        run
        for one in dict.fromkeys(first)
        for run in repeated(one, 1 if quick else SEEDS.get(one.case.name, 1))
    ]


def _label(reading: str, case: Case, control: Control) -> str:
    """Label of a run; TCP alone is the same with every reading."""
    reading = "alone" if control == "tcp" else reading
    return label("hosts", reading, case.name, *filter(None, (case.vegas_gamma,)), control)


def _cases(name: str, quick: bool) -> list[Case]:
    case = CASES[name].shortened(QUICK_S) if quick else CASES[name]
    if case.bandwidth_bps >= SHORT_BPS and not quick:
        twice = case.nodes > CASES["4"].nodes or case.tcp == "vegas"
        case = replace(case, seconds=2 * SHORT_S if twice else SHORT_S)
    return [replace(case, vegas_gamma=gamma) for gamma in GAMMAS] if case.tcp == "vegas" else [case]


def _judge(name: str, outcomes: Outcomes) -> list[Claim]:
    gammas = dict.fromkeys(runs[0].case.vegas_gamma for runs in outcomes.values())
    return [_found(name, outcomes, reading, gamma) for gamma in gammas for reading in READINGS]


def _found(name: str, outcomes: Outcomes, reading: str, gamma: int | None) -> Claim:
    ran = [runs[0].case for runs in outcomes.values()]
    cases = {case.name: case for case in ran if case.vegas_gamma == gamma}
    runs = {
        plan.label(case.name, control): outcomes[_label(reading, case, control)]
        for case in cases.values()
        for control in CONTROLS
    }
    judged = evaluate(RULES, {scenario: found[:1] for scenario, found in runs.items()})
    failed = [claim.id for claim in judged if not claim.holds]
    figures = grouped(judged, lambda claim: claim.figure.split(", ", 1)[1])
    explained = [figure for figure, claims in figures.items() if all(claim.holds for claim in claims)]
    early = any(found[0].early_drops for found in runs.values())
    return finding(
        name, reading if gamma is None else f"{reading}-gamma-{gamma}",
        f"{READINGS[reading][0]}{'' if gamma is None else f', gamma {gamma}'}: the paper's claims hold",
        len(judged) - len(failed), f"of {len(judged)} claims", not failed and not early,
        f"all, and nothing is lost early; explains {', '.join(explained) or 'nothing'};"
        f" not: {', '.join(failed) or 'none'}; least and most efficiencies, and of the first run packets lost"
        f" before and after the background joined: {'; '.join(map(_figures, runs.values()))}",
    )  # fmt: skip


def _figures(runs: Sequence[Outcome]) -> str:
    first, means = runs[0], [run.mean_efficiency for run in runs]
    hosts = f", {first.drops[0]} of them in hosts" if 0 in first.drops else ""
    return (
        f"{first.case.name} {CONTROLS[first.run.control]}: {min(means):.2f} to {max(means):.2f}"
        f" (standard deviation {first.efficiency_spread:.3f}), lost {first.early_drops} and"
        f" {first.dropped}{hosts}, at most {first.fullest_queue:.0f} in a node"
    )


STUDIES: list[AnyStudy] = [
    SIMULATION.beyond(
        name, f"readings of hosts, eq. 1 and buffers: {about}", partial(_runs, names), partial(_judge, name)
    )
    for name, (about, names) in SUBJECTS.items()
]  # fmt: skip
