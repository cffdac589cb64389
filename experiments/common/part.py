"""A figure or a study of a paper: the runs that it needs, and what is made of them when all are over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from experiments.common.claims import Claim


class HasRun(Protocol):
    """What a run measured."""

    @property
    def run(self) -> Any:
        """Which run it was."""
        ...


Run = TypeVar("Run")
Measured = TypeVar("Measured", bound=HasRun)
Grouped = TypeVar("Grouped")
"""what a paper's rules and figures are given: its outcomes, by case"""


@dataclass(frozen=True)
class Part(Generic[Run, Measured, Grouped]):
    """Its files are written when the last of its runs is over; parts may share runs."""

    name: str
    runs: list[Run]
    group: Callable[[Sequence[Measured]], Grouped]
    judge: Callable[[Grouped], list[Claim]]
    draw: Callable[[Path, Grouped], None]
    write_table: Callable[[Path, Sequence[Measured]], None]
    measured: dict[Run, Measured] = field(default_factory=dict[Run, Measured])

    def add(self, outcome: Measured, out: Path) -> None:
        """Takes what one of its runs measured; others are not for it."""
        if outcome.run not in self._wanted:
            return
        self.measured[outcome.run] = outcome
        if self.complete:
            self.write_table(out / f"{self.name}.csv", self.outcomes)
            self.draw(out / f"{self.name}.png", self.group(self.outcomes))

    @cached_property
    def _wanted(self) -> frozenset[Run]:
        return frozenset(self.runs)

    @property
    def complete(self) -> bool:
        return len(self.measured) == len(self.runs)

    @property
    def outcomes(self) -> list[Measured]:
        """Of the runs that are over, in the order of the runs."""
        return [self.measured[run] for run in self.runs if run in self.measured]

    @property
    def claims(self) -> list[Claim]:
        """None before all has run."""
        return self.judge(self.group(self.outcomes)) if self.complete else []
