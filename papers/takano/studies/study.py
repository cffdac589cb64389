"""A study beyond the paper: simulations, the rules that judge them, and a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.common.claims import Claim
from papers.takano.claims import FAIR, NEAR
from papers.takano.judge import Outcomes, Rule
from papers.takano.outcome import Outcome
from papers.takano.plan import Run

BEYOND = "beyond the paper"


@dataclass(frozen=True)
class Study:
    """What the command runs, writes and draws under a name."""

    name: str
    about: str
    """for people: one line"""
    runs: Callable[[bool, int], list[Run]]
    """of the short variant or the full one, with a seed"""
    rules: Callable[[Sequence[Run]], list[Rule]]
    """for these runs, all of them stated before any is run"""
    draw: Callable[[Path, Outcomes], None]
    """its figure, of whatever runs are there"""


def label(study: str, *parts: str | float) -> str:
    return "-".join(("study", study, *map(str, parts)))


def labels(runs: Sequence[Run], *controls: str) -> tuple[str, ...]:
    """Of the runs with these controls, each once."""
    return tuple(dict.fromkeys(run.label for run in runs if run.control in controls))


def finding(study: str, name: str, claim: str, measured: float, unit: str, holds: bool, note: str) -> Claim:
    """A claim of ours; the note states its criterion."""
    return Claim(label(study, name), f"study {study}", claim, BEYOND, measured, unit, holds, note)


def control_findings(study: str, where: str, outcomes: Sequence[Outcome]) -> list[Claim]:
    """With control: what the paper says of two flows on its line, at the worst of several runs."""
    distances = [abs(outcome.mean_efficiency - 1 / len(outcome.case.sources)) for outcome in outcomes]
    spread = max(outcome.efficiency_spread for outcome in outcomes)
    fairness = min(outcome.fairness for outcome in outcomes)
    lost = sum(outcome.dropped + outcome.early_drops for outcome in outcomes)
    return [
        finding(
            study, "dfc-share", f"with DFC the target flow gets its share {where}", max(distances),
            "largest distance from 1 / flows", max(distances) <= NEAR, f"within {NEAR} in each",
        ),
        finding(
            study, "dfc-stable", f"with DFC the efficiency is stable {where}", spread,
            "largest standard deviation", spread <= NEAR, f"at most {NEAR} in each",
        ),
        finding(
            study, "dfc-fair", f"with DFC all flows share the link fairly {where}", fairness,
            "slowest over fastest, at worst", fairness >= FAIR, f"at least {FAIR} in each",
        ),
        finding(
            study, "dfc-no-loss", f"with DFC no packet is lost {where}", lost, "packets", lost == 0,
            "none in any",
        ),
    ]  # fmt: skip


def alone_finding(study: str, where: str, outcomes: Sequence[Outcome]) -> Claim:
    """Without control packets are lost after the background has joined."""
    least = min(outcome.dropped for outcome in outcomes)
    claim = f"TCP alone loses packets {where}"
    return finding(study, "tcp-loss", claim, least, "packets, at least", least > 0, "some in each")
