"""What the command can run of the slow host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from experiments.common import part
from papers.cmt.slow import claims, figures, plan
from papers.cmt.slow.outcome import Outcome, Outcomes, write_table
from papers.cmt.slow.plan import Run

Part: TypeAlias = part.Part[Run, Outcome, Outcomes]


def slow_host(*, quick: bool, seed: int) -> Part:
    runs = plan.slow_host(quick=quick, seed=seed)
    return part.Part("slow", runs, _as_they_are, claims.slow_host, figures.slow_host, write_table)


def behind_routers(*, quick: bool, seed: int) -> Part:
    runs = plan.behind_routers(quick=quick, seed=seed)
    name = "slow-routers"
    return part.Part(name, runs, _as_they_are, claims.behind_routers, figures.slow_host, write_table)


STUDIES: dict[str, Callable[..., Part]] = {"slow": slow_host, "slow-routers": behind_routers}


def _as_they_are(outcomes: Sequence[Outcome]) -> Outcomes:
    return outcomes
