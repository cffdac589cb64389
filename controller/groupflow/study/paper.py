"""A paper as `groupflow reproduce` runs it: its simulations, figures, scenarios and studies."""

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from groupflow.study.claims import Claim
from groupflow.study.errors import StudyError
from groupflow.study.part import Grouped, Measured, Part, Run

Case = TypeVar("Case")
Runs: TypeAlias = Callable[[bool, int], list[Run]]
"""makes the runs of the short variant or of the full one, with seeds from this one on"""


@dataclass(frozen=True)
class Simulation(Generic[Run, Measured, Grouped]):
    """The simulation of runs of one kind, and the reading of their outcomes."""

    simulate: Callable[..., Measured]
    """a function at the top of a module, as other processes find it by its name: simulates a run and returns
    an outcome whose `run` is that run; if it has a parameter `folder`, it is given a folder for data"""
    group: Callable[[Sequence[Measured]], Grouped]
    rows: Callable[[Measured], Iterable[Mapping[str, Any]]]
    """rows of a table"""
    title: Callable[[Run], str]
    """a run's title, for the progress bar"""
    cost: Callable[[Run], float]
    """a number about proportional to the time that a run takes"""
    folder: Callable[[Run], str] | None = None

    def beyond(
        self,
        name: str,
        about: str,
        runs: Runs[Run],
        judge: Callable[[Grouped], Iterable[Claim]],
        draw: Callable[[Path, Grouped], None],
    ) -> "Study[Run, Measured, Grouped]":
        """A study beyond the paper, whose files have their own names."""
        return Study(f"study-{name}", about, self, runs, judge, draw)

    def job(self, run: Run, out: Path) -> Callable[[], Measured]:
        more = () if self.folder is None else (out / "data" / self.folder(run),)
        return partial(self.simulate, run, *more)


@dataclass(frozen=True)
class Study(Generic[Run, Measured, Grouped]):
    """A figure, table or scenario of a paper, or a question beyond the paper."""

    name: str
    """name of its files"""
    about: str
    """one line for people"""
    simulation: Simulation[Run, Measured, Grouped]
    runs: Runs[Run]
    judge: Callable[[Grouped], Iterable[Claim]]
    """claims, by rules that were stated before any run"""
    draw: Callable[[Path, Grouped], None]

    def part(self, quick: bool, seed: int) -> Part[Run, Measured, Grouped]:
        """The part, with each run once. Raises StudyError without runs, or if one cannot be pickled."""
        kind, runs = self.simulation, list(dict.fromkeys(self.runs(quick, seed)))
        if not runs:
            raise StudyError(f"{self.name} has no runs")
        sent = (("simulate", kind.simulate, "a function of a module"), ("a run", runs, "picklable"))
        for what, value, must in sent:
            try:
                pickle.dumps(value)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise StudyError(f"{what} of {self.name} is not {must}: {error}") from error
        return Part(self.name, runs, kind.group, self.judge, self.draw, kind.rows)


AnyStudy: TypeAlias = Study[Any, Any, Any]


@dataclass(frozen=True)
class Paper:
    """A paper as `groupflow reproduce` runs it."""

    about: str
    """one line for people"""
    default: Callable[[bool], Sequence[AnyStudy]]
    """the studies that are run where none is named, in the short variant or the full one"""
    studies: Mapping[str, AnyStudy]
    """by the name that `--study` takes"""
    scenarios: Mapping[str, AnyStudy] = field(default_factory=dict[str, AnyStudy])
    """by the name that `--scenario` takes"""
    across: Callable[[Sequence[Any]], list[Claim]] = lambda _: []
    """claims that compare scenarios, from the outcomes of all complete scenarios, each once"""


def seeded(
    cases: Callable[[bool], Iterable[Case]],
    run: Callable[[Case, int, bool], Run],
    seeds: int,
    quick_seeds: int,
) -> Runs[Run]:
    """Makes runs of each case, in the short variant or the full one, with the same number of seeds each."""

    def runs(quick: bool, seed: int) -> list[Run]:
        numbers = range(seed, seed + (quick_seeds if quick else seeds))
        return [run(case, number, quick) for case in dict.fromkeys(cases(quick)) for number in numbers]

    return runs


def by_case(outcomes: Iterable[Any]) -> dict[Any, list[Any]]:
    """Outcomes of each case, in the order of the runs."""
    found: dict[Any, list[Any]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.run.case, []).append(outcome)
    return found
