"""What the command can run: figures of the paper and studies, each with its simulations and its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from experiments.common.claims import Claim
from experiments.sakajiri.claims import RULES
from experiments.sakajiri.figures import FIGURES
from experiments.sakajiri.outcome import Outcome, Outcomes, write_table
from experiments.sakajiri.paper import QUICK_SEEDS, SEEDS, Case, Run
from experiments.sakajiri.studies import STUDIES


@dataclass(frozen=True)
class Part:
    """A figure or a study. Its files are written when the last of its runs is over; figures share runs."""

    name: str
    runs: list[Run]
    judge: Callable[[Outcomes], list[Claim]]
    draw: Callable[[Path, Outcomes], None]
    measured: dict[Run, Outcome] = field(default_factory=dict[Run, Outcome])

    def add(self, outcome: Outcome, out: Path) -> None:
        """Takes what one of its runs measured; others are not for it."""
        if outcome.run not in self._wanted:
            return
        self.measured[outcome.run] = outcome
        if self.complete:
            write_table(out / f"{self.name}.csv", [self.measured[run] for run in self.runs])
            self.draw(out / f"{self.name}.png", self.outcomes)

    @cached_property
    def _wanted(self) -> frozenset[Run]:
        return frozenset(self.runs)

    @property
    def complete(self) -> bool:
        return len(self.measured) == len(self.runs)

    @property
    def outcomes(self) -> Outcomes:
        found: dict[Case, list[Outcome]] = {}
        for run in self.runs:
            found.setdefault(run.case, []).append(self.measured[run])
        return found

    @property
    def claims(self) -> list[Claim]:
        """None before all has run."""
        return self.judge(self.outcomes) if self.complete else []


def figures(*, quick: bool, seed: int) -> list[Part]:
    """Figures 3, 5, 6 and 7, and Table II."""
    return [
        Part(name, _runs(figure.cases, quick=quick, seed=seed), RULES[name], figure.draw)
        for name, figure in FIGURES.items()
    ]


def study(name: str, *, quick: bool, seed: int) -> Part:
    chosen = STUDIES[name]
    runs = _runs(chosen.cases(quick), quick=quick, seed=seed, seeds=chosen.seeds)
    return Part(f"study-{name}", runs, chosen.judge, chosen.draw)


def _runs(cases: Iterable[Case], *, quick: bool, seed: int, seeds: int = SEEDS) -> list[Run]:
    each = range(seed, seed + (QUICK_SEEDS if quick else seeds))
    return [Run(case, number, quick) for case in dict.fromkeys(cases) for number in each]
