"""One simulation as a value, and how often and how long a point is run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from papers.icn2011.paper import (
    LOADS,
    QUICK_LOADS,
    QUICK_SECONDS,
    QUICK_SEEDS,
    SECONDS,
    SEEDS,
    Case,
)


@dataclass(frozen=True)
class Run:
    """One simulation."""

    case: Case
    seed: int
    seconds: float

    @property
    def cost(self) -> float:
        """About proportional to the packets that it moves."""
        case = self.case
        links = 2 + 3 * case.members if case.senders == 1 else 5 * case.senders
        if case.method == "unicast":
            # The sender's link is full, whatever the number of copies; it is all that bounds them.
            return self.seconds * min(1.0, case.load * len(case.receivers("ma1"))) * 4 * case.senders
        return self.seconds * case.load * (links + 2 * case.routers)


def loads(*, quick: bool) -> tuple[float, ...]:
    """At which loads the figures have points."""
    return QUICK_LOADS if quick else LOADS


def runs(cases: Iterable[Case], *, quick: bool, seed: int) -> list[Run]:
    """All runs of these cases: with as many seeds as the paper has, for as long; or the short variant."""
    seconds, count = (QUICK_SECONDS, QUICK_SEEDS) if quick else (SECONDS, SEEDS)
    return [Run(case, each, seconds) for case in dict.fromkeys(cases) for each in range(seed, seed + count)]
