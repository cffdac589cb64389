"""What the command can run: figures of the paper and studies, each with its simulations and its files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from experiments.common.claims import Claim
from experiments.icn2011 import claims, figures, plan
from experiments.icn2011.figures import Figure
from experiments.icn2011.outcome import Outcome, Points, points, write_table
from experiments.icn2011.plan import Run
from experiments.icn2011.studies import STUDIES


@dataclass(frozen=True)
class Part:
    """A figure or a study. Its files are written when the last of its runs is over; figures share runs."""

    name: str
    runs: list[Run]
    judge: Callable[[Points], list[Claim]]
    draw: Callable[[Path, Points], None]
    measured: dict[Run, Outcome] = field(default_factory=dict[Run, Outcome])

    def add(self, outcome: Outcome, out: Path) -> None:
        """Takes what one of its runs measured; others are not for it."""
        if outcome.run not in self._wanted:
            return
        self.measured[outcome.run] = outcome
        if self.complete:
            write_table(out / f"{self.name}.csv", [self.measured[run] for run in self.runs])
            self.draw(out / f"{self.name}.png", self.points)

    @cached_property
    def _wanted(self) -> frozenset[Run]:
        return frozenset(self.runs)

    @property
    def complete(self) -> bool:
        return len(self.measured) == len(self.runs)

    @property
    def points(self) -> Points:
        return points(self.measured[run] for run in self.runs)

    @property
    def claims(self) -> list[Claim]:
        """None before all has run."""
        return self.judge(self.points) if self.complete else []


def figure(chosen: Figure, *, quick: bool, seed: int) -> Part:
    """Of the paper."""
    runs = plan.runs(chosen.cases(plan.loads(quick=quick)), quick=quick, seed=seed)
    draw = partial(_draw_figure, chosen)
    return Part(f"figure-{chosen.number}", runs, partial(claims.evaluate, chosen.number), draw)


def study(name: str, *, quick: bool, seed: int) -> Part:
    chosen = STUDIES[name]
    runs = plan.runs(chosen.cases(quick), quick=quick, seed=seed)
    return Part(f"study-{name}", runs, chosen.judge, chosen.draw)


def _draw_figure(chosen: Figure, path: Path, found: Points) -> None:
    figures.draw(path, chosen, found)
