"""The paper's hosts, of which it says little: packets of TCP enter the first node at once, or at the line's
rate; with the control hosts shape their flows to r_0 (eq. 9), or do not. With Vegas also gamma, the packets
in queues that end its slow start: ns-2 has 1, and the paper says nothing.

The rule: an assumption explains what the paper says of some scenarios if all of its
claims on them hold, alone and with the control, each scenario run once, and no packet is lost before the
background joins: the paper's losses begin with it. Losses before and after are told apart.

Lines of 3.7 Gb/s and more run for 0.4 s: 50 round trips of 30 nodes after the background has joined, at
0.1 s as in the paper.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from groupflow.study.claims import Claim, finding
from groupflow.study.experiment import AnyStudy
from papers.takano import plan
from papers.takano.claims import RULES
from papers.takano.judge import evaluate
from papers.takano.outcome import SIMULATION, Outcome, Outcomes
from papers.takano.paper import CASES, MEGABIT, Case
from papers.takano.plan import Control, Run
from papers.takano.studies.study import label

SHORT_BPS, SHORT_S, QUICK_S = 3_700 * MEGABIT, 0.4, 0.04
"""rate from which on a scenario is shortened, and its length"""
GAMMAS = (1, 10, 100, 1000)
HOSTS: Mapping[str, tuple[str, bool, bool]] = {
    "here": ("at once, shaped", False, True),
    "paced": ("at the line's rate, shaped", True, True),
    "unshaped": ("at once, not shaped", False, False),
    "paced-unshaped": ("at the line's rate, not shaped", True, False),
}
"""words, whether hosts' links have the line's rate, and whether hosts shape with the control"""
CONTROLS: Mapping[Control, str] = {"tcp": "TCP alone", "dfc": "with DFC"}
SUBJECTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "hosts": ("lines of section 4 up to 3.7 Gb/s", ("1", "2", "3")),
    "hosts-fast": ("lines of section 4 from 37 Gb/s", ("5", "6")),
    "hosts-size": ("the sizes of section 5", ("4S", "4", "4L")),
    "hosts-tcp": ("Reno and NewReno, section 6", ("4", "4R", "4N")),
    "hosts-vegas": ("Vegas, and its gamma from 1 to 1,000", ("4V", "4V2")),
}
"""by study; a scenario of two of them is run once"""


def _runs(names: Sequence[str], quick: bool, seed: int) -> list[Run]:
    return [
        Run(label("hosts", hosts, case.name, *filter(None, (case.vegas_gamma,)), control), case, control,
            seed=seed, paced=paced, shaped=shaped)
        for name in names
        for case in _cases(name, quick)
        for hosts, (_, paced, shaped) in HOSTS.items()
        for control in CONTROLS
        if control == "dfc" or shaped  # without control nobody shapes
    ]  # fmt: skip


def _cases(name: str, quick: bool) -> list[Case]:
    case = CASES[name]
    if quick or case.bandwidth_bps >= SHORT_BPS:
        case = case.shortened(QUICK_S if quick else SHORT_S)
    return [replace(case, vegas_gamma=gamma) for gamma in GAMMAS] if case.tcp == "vegas" else [case]


def _of(outcomes: Outcomes, hosts: str, gamma: int | None) -> dict[str, Sequence[Outcome]]:
    """The outcomes with these hosts and this gamma, under the labels of the paper's scenarios."""
    _, paced, shaped = HOSTS[hosts]
    return {
        plan.label(each.case.name, each.run.control): [each]
        for each in (run for runs in outcomes.values() for run in runs)
        if (each.run.paced, each.case.vegas_gamma) == (paced, gamma)
        and (each.run.control == "tcp" or each.run.shaped == shaped)
    }


def _gammas(outcomes: Outcomes) -> list[int | None]:
    return list(dict.fromkeys(runs[0].case.vegas_gamma for runs in outcomes.values()))


def _judge(name: str, outcomes: Outcomes) -> list[Claim]:
    return [_found(name, outcomes, hosts, gamma) for gamma in _gammas(outcomes) for hosts in HOSTS]


def _found(name: str, outcomes: Outcomes, hosts: str, gamma: int | None) -> Claim:
    runs = _of(outcomes, hosts, gamma)
    judged = evaluate(RULES, runs)
    failed = [claim.id for claim in judged if not claim.holds]
    measured = [found[0] for found in runs.values()]
    figures = "; ".join(
        f"{each.case.name} {CONTROLS[each.run.control]}: {each.mean_efficiency:.2f}"
        f" (standard deviation {each.efficiency_spread:.3f}), lost {each.early_drops} and {each.dropped}"
        for each in measured
    )
    with_gamma = "" if gamma is None else f", gamma {gamma}"
    return finding(
        name, hosts if gamma is None else f"{hosts}-gamma-{gamma}",
        f"hosts' packets {HOSTS[hosts][0]}{with_gamma}: the paper's claims hold", len(judged) - len(failed),
        f"of {len(judged)} claims", not failed and not any(each.early_drops for each in measured),
        f"all, and nothing is lost early; not: {', '.join(failed) or 'none'};"
        f" efficiencies, and packets lost before and after the background joined: {figures}",
    )  # fmt: skip


STUDIES: list[AnyStudy] = [
    SIMULATION.beyond(
        name, f"hosts that pace and shape, or do not: {about}",
        partial(_runs, names), partial(_judge, name),
    )
    for name, (about, names) in SUBJECTS.items()
]  # fmt: skip
