"""What the command can run of the tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from experiments.common import part
from papers.cmt.tree import claims, figures, plan
from papers.cmt.tree.outcome import Outcome, Outcomes, write_table
from papers.cmt.tree.plan import Run

Part: TypeAlias = part.Part[Run, Outcome, Outcomes]


def by_size(*, quick: bool, seed: int) -> Part:
    runs = plan.by_size(quick=quick, seed=seed)
    return part.Part("tree", runs, _as_they_are, claims.by_size, figures.by_size, write_table)


def by_threshold(*, quick: bool, seed: int) -> Part:
    runs = plan.by_threshold(quick=quick, seed=seed)
    return part.Part(
        "study-threshold", runs, _as_they_are, claims.by_threshold, figures.by_threshold, write_table
    )


STUDIES: dict[str, Callable[..., Part]] = {"tree": by_size, "threshold": by_threshold}


def _as_they_are(outcomes: Sequence[Outcome]) -> Outcomes:
    return outcomes
