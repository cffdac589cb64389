"""Parts that studies beyond the paper share: labels, and the paper's claims on its line."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from groupflow.study.claims import Claim, finding
from groupflow.study.experiment import Study, nothing
from papers.takano.claims import FAIR, NEAR
from papers.takano.judge import Rule, evaluate
from papers.takano.outcome import SIMULATION, Outcome, Outcomes
from papers.takano.plan import Run


def study(
    name: str,
    about: str,
    runs: Callable[[bool, int], list[Run]],
    rules: Callable[[Sequence[Run]], Iterable[Rule]],
    draw: Callable[[Path, Outcomes], None] = nothing,
) -> Study[Run, Outcome, Outcomes]:
    """A study judged by the rules for its runs, which do not depend on the measurements."""

    def judge(outcomes: Outcomes) -> list[Claim]:
        return evaluate(rules([each.run for found in outcomes.values() for each in found]), outcomes)

    return SIMULATION.beyond(name, about, runs, judge, draw)


def label(study: str, *parts: str | float) -> str:
    return "-".join(("study", study, *map(str, parts)))


def labels(runs: Sequence[Run], *controls: str) -> tuple[str, ...]:
    """Labels of the runs with these controls, each once."""
    return tuple(dict.fromkeys(run.label for run in runs if run.control in controls))


def control_findings(study: str, where: str, outcomes: Sequence[Outcome]) -> Iterator[Claim]:
    """The paper's claims on two flows with control, at the worst of several runs."""
    distances = [abs(outcome.mean_efficiency - 1 / len(outcome.case.sources)) for outcome in outcomes]
    spread = max(outcome.efficiency_spread for outcome in outcomes)
    fairness = min(outcome.fairness for outcome in outcomes)
    lost = sum(outcome.dropped + outcome.early_drops for outcome in outcomes)
    yield finding(
        study, "dfc-share", f"with DFC the target flow gets its share {where}", max(distances),
        "largest distance from 1 / flows", max(distances) <= NEAR, f"within {NEAR} in each",
    )  # fmt: skip
    yield finding(
        study, "dfc-stable", f"with DFC the efficiency is stable {where}", spread,
        "largest standard deviation", spread <= NEAR, f"at most {NEAR} in each",
    )  # fmt: skip
    yield finding(
        study, "dfc-fair", f"with DFC all flows share the link fairly {where}", fairness,
        "slowest over fastest, at worst", fairness >= FAIR, f"at least {FAIR} in each",
    )  # fmt: skip
    yield finding(
        study, "dfc-no-loss", f"with DFC no packet is lost {where}", lost, "packets", lost == 0,
        "none in any",
    )  # fmt: skip


def compared(study: str, where: str, runs: Sequence[Run]) -> Iterator[Rule]:
    """The rules for all of these runs: with control, and without it."""
    yield Rule(labels(runs, "dfc"), lambda *outcomes: control_findings(study, where, outcomes))
    yield Rule(labels(runs, "tcp"), lambda *outcomes: [_alone_finding(study, where, outcomes)])


def _alone_finding(study: str, where: str, outcomes: Sequence[Outcome]) -> Claim:
    """The claim that packets are lost without control, after the background has joined."""
    least = min(outcome.dropped for outcome in outcomes)
    claim = f"TCP alone loses packets {where}"
    return finding(study, "tcp-loss", claim, least, "packets, at least", least > 0, "some in each")
