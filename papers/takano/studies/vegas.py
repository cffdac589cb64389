"""Vegas' gamma, the packets in queues that end its slow start: ns-2 has 1, and the paper says nothing.

The rule, stated before any run: a gamma explains the paper's Vegas (scenarios 4V and 4V') if all of the
paper's claims on these two hold with it, each scenario run once with and without control, for 1 s instead of
3 s, which is 170 round trips.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from groupflow.study.claims import Claim, finding
from groupflow.study.drawing import COLOURS, save, subplots
from papers.takano import plan
from papers.takano.claims import RULES
from papers.takano.judge import Outcomes, evaluate
from papers.takano.outcome import Outcome
from papers.takano.paper import CASES, QUICK_SECONDS
from papers.takano.plan import Control, Run
from papers.takano.simulation import SIMULATION
from papers.takano.studies.study import label

NAME = "vegas"
GAMMAS = (1, 10, 100, 1000)
SECONDS = 1.0
SCENARIOS = ("4V", "4V2")
CONTROLS: tuple[Control, ...] = ("tcp", "dfc")


def _runs(quick: bool, seed: int) -> list[Run]:
    cases = [CASES[name].shortened(QUICK_SECONDS if quick else SECONDS) for name in SCENARIOS]
    return [
        Run(label(NAME, gamma, case.name, control), replace(case, vegas_gamma=gamma), control, seed=seed)
        for gamma in GAMMAS
        for case in cases
        for control in CONTROLS
    ]


def _of(outcomes: Outcomes, gamma: int) -> dict[str, Sequence[Outcome]]:
    """The outcomes with this gamma, under the labels of the paper's scenarios."""
    runs = [each for found in outcomes.values() for each in found]
    chosen = [each for each in runs if each.case.vegas_gamma == gamma]
    return {plan.label(each.case.name, each.run.control): [each] for each in chosen}


def _judge(outcomes: Outcomes) -> list[Claim]:
    return [_found(gamma, _of(outcomes, gamma)) for gamma in GAMMAS]


def _found(gamma: int, runs: Outcomes) -> Claim:
    judged = evaluate(RULES, runs)
    failed = [claim.id for claim in judged if not claim.holds]
    used = ", ".join(f"{found[0].mean_efficiency:.2f}" for found in runs.values())
    return finding(
        NAME, f"gamma-{gamma}", f"gamma {gamma}: the paper's claims on Vegas hold", len(judged) - len(failed),
        f"of {len(judged)} claims", not failed,
        f"all; not: {', '.join(failed) or 'none'}; efficiencies of 4V and 4V', alone and with DFC: {used}",
    )  # fmt: skip


def _draw(path: Path, outcomes: Outcomes) -> None:
    figure, axes = subplots(len(GAMMAS), 2, figsize=(10, 1.8 * len(GAMMAS)), sharex=True, sharey=True)
    for row, gamma in zip(axes, GAMMAS, strict=True):
        found = _of(outcomes, gamma)
        for axis, name in zip(row, SCENARIOS, strict=True):
            for colour, control in zip(COLOURS, CONTROLS, strict=False):
                words = "TCP alone" if control == "tcp" else "with DFC"
                for outcome in found.get(plan.label(name, control), ()):
                    axis.plot(outcome.time_s, outcome.efficiency, linewidth=0.6, color=colour, label=words)
            axis.set(title=f"{name}, gamma {gamma}", ylim=(0, 1.02))
            axis.grid(alpha=0.25)
    axes[0, 0].legend(fontsize="x-small")
    save(figure, path)


STUDY = SIMULATION.beyond(NAME, "gamma of Vegas from 1 to 1,000", _runs, _judge, _draw)
