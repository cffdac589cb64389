"""A part of a study: its runs, and the files and claims that follow when all of them are over."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from groupflow.study.claims import Claim
from groupflow.study.files import Row, write_rows


class Outcome(Protocol):
    """The measurements of a run that the frame needs."""

    @property
    def run(self) -> Any:
        """The run that gave this outcome."""
        ...

    @property
    def simulated_s(self) -> float: ...
    @property
    def packet_hops(self) -> int: ...


Run = TypeVar("Run")
Measured = TypeVar("Measured", bound=Outcome)
Grouped = TypeVar("Grouped")
"""the form of outcomes for a paper's rules and figures, by the quantities that the paper varies"""


@dataclass(frozen=True)
class Part(Generic[Run, Measured, Grouped]):
    """A part, whose files are written when the last of its runs is over; parts may share runs."""

    name: str
    """name of its files"""
    runs: list[Run]
    group: Callable[[Sequence[Measured]], Grouped]
    judge: Callable[[Grouped], Iterable[Claim]]
    draw: Callable[[Path, Grouped], None]
    rows: Callable[[Measured], Iterable[Row]]
    measured: dict[Run, Measured] = field(default_factory=dict[Run, Measured])

    def add(self, outcome: Measured, out: Path) -> None:
        """Takes an outcome; ignores outcomes of runs that are not its own."""
        if outcome.run not in self._wanted:
            return
        self.measured[outcome.run] = outcome
        if self.complete:
            rows = [row for each in self.outcomes for row in self.rows(each)]
            write_rows(out / f"{self.name}.csv", rows)
            self.draw(out / f"{self.name}.png", self.group(self.outcomes))

    @cached_property
    def _wanted(self) -> frozenset[Run]:
        return frozenset(self.runs)

    @property
    def complete(self) -> bool:
        return len(self.measured) == len(self.runs)

    @property
    def outcomes(self) -> list[Measured]:
        """Outcomes of the finished runs, in the order of the runs."""
        return [self.measured[run] for run in self.runs if run in self.measured]

    @property
    def claims(self) -> list[Claim]:
        """The claims; none before all runs are over."""
        return list(self.judge(self.group(self.outcomes))) if self.complete else []
