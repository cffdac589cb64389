"""The paper's hosts, of which it says little: packets of TCP enter the first node at once, or at the line's
rate; with the control hosts shape their flows to r_0 (eq. 9), or do not.

The rule: an assumption explains the paper's results under a control if all of the paper's claims about that
control hold, each scenario run once. Losses before the background joins are told apart: the paper's begin
with it, and with the control only at 123 Gb/s (scenario 6).

Lines of 12.3 Gb/s and more run for half a second: 65 round trips of 30 nodes after the background has joined.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from groupflow.study.claims import Claim, finding
from groupflow.study.drawing import COLOURS, save, subplots
from papers.takano import plan
from papers.takano.claims import RULES
from papers.takano.judge import Outcomes, evaluate
from papers.takano.outcome import Outcome
from papers.takano.paper import CASES, MEGABIT, QUICK_CASES, QUICK_SECONDS
from papers.takano.plan import Control, Run
from papers.takano.simulation import SIMULATION
from papers.takano.studies.study import label

NAME = "hosts"
SHORT_BPS, SHORT_S = 12_300 * MEGABIT, 0.5
"""rate from which on a scenario is shortened, and its length"""
HOSTS: Mapping[str, tuple[str, bool, bool]] = {
    "here": ("at once, shaped", False, True),
    "paced": ("at the line's rate, shaped", True, True),
    "unshaped": ("at once, not shaped", False, False),
    "paced-unshaped": ("at the line's rate, not shaped", True, False),
}
"""words, whether hosts' links have the line's rate, and whether hosts shape with the control"""
CONTROLS: Mapping[Control, str] = {"tcp": "TCP alone", "dfc": "with DFC"}


def _runs(quick: bool, seed: int) -> list[Run]:
    if quick:
        cases = [CASES[name].shortened(QUICK_SECONDS) for name in QUICK_CASES]
    else:
        cases = [
            case.shortened(SHORT_S) if case.bandwidth_bps >= SHORT_BPS else case for case in CASES.values()
        ]
    return [
        Run(label(NAME, hosts, case.name, control), case, control, seed=seed, paced=paced, shaped=shaped)
        for case in cases
        for hosts, (_, paced, shaped) in HOSTS.items()
        for control in CONTROLS
        if control == "dfc" or shaped
    ]


def _of(outcomes: Outcomes, hosts: str) -> dict[str, Sequence[Outcome]]:
    """The outcomes with these hosts, under the labels of the paper's scenarios."""
    runs = [each for found in outcomes.values() for each in found]
    chosen = [each for each in runs if (each.run.paced, each.run.shaped) == HOSTS[hosts][1:]]
    return {plan.label(each.case.name, each.run.control): [each] for each in chosen}


def _judge(outcomes: Outcomes) -> list[Claim]:
    return [claim for hosts in HOSTS for control in CONTROLS for claim in _found(outcomes, hosts, control)]


def _found(outcomes: Outcomes, hosts: str, control: Control) -> list[Claim]:
    runs = {name: runs for name, runs in _of(outcomes, hosts).items() if runs[0].run.control == control}
    if not runs:
        return []
    words = f"{CONTROLS[control]}, hosts' packets {HOSTS[hosts][0]}"
    judged = evaluate(RULES, runs)
    failed = [claim.id for claim in judged if not claim.holds]
    early = sum(found[0].early_drops for found in runs.values())
    late = ", ".join(
        f"{found[0].case.name}: {found[0].early_drops} and {found[0].dropped}" for found in runs.values()
    )
    return [
        finding(
            NAME, f"{hosts}-{control}", f"{words}: the paper's claims hold", len(judged) - len(failed),
            f"of {len(judged)} claims", not failed, f"all; not: {', '.join(failed) or 'none'}",
        ),
        finding(
            NAME, f"{hosts}-{control}-early", f"{words}: no packet is lost before the background", early,
            "packets", early == 0, f"none; by scenario, before and after it: {late}",
        ),
    ]  # fmt: skip


def _draw(path: Path, outcomes: Outcomes) -> None:
    names = list(dict.fromkeys(found[0].case.name for found in outcomes.values()))
    figure, axes = subplots(len(names), 2, figsize=(10, 1.0 + 1.6 * len(names)), sharey=True, squeeze=False)
    for colour, (hosts, (words, _, _)) in zip(COLOURS, HOSTS.items(), strict=False):
        found = _of(outcomes, hosts)
        for row, name in zip(axes, names, strict=True):
            for axis, control in zip(row, CONTROLS, strict=True):
                for outcome in found.get(plan.label(name, control), ()):
                    axis.plot(outcome.time_s, outcome.efficiency, linewidth=0.7, color=colour, label=words)
                axis.set(title=f"{name}: {CONTROLS[control]}", ylim=(0, 1.02))
                axis.grid(alpha=0.25)
    axes[0, 1].legend(fontsize="x-small")
    save(figure, path)


STUDY = SIMULATION.beyond(NAME, "hosts that pace and shape, or do not", _runs, _judge, _draw)
