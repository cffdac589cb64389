"""A paper as `groupflow reproduce` knows it: its simulations, figures, scenarios and studies."""

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
"""of the short variant or the full one, from a seed on"""


@dataclass(frozen=True)
class Simulation(Generic[Run, Measured, Grouped]):
    """How runs of one kind are simulated, and their outcomes read."""

    simulate: Callable[..., Measured]
    """a function of a module, for it goes to other processes by its name: simulates a run in one of them, and
    gives an outcome whose `run` is that run; where `folder` names one, it is given a folder for data, too"""
    group: Callable[[Sequence[Measured]], Grouped]
    rows: Callable[[Measured], Iterable[Mapping[str, Any]]]
    """of a table"""
    title: Callable[[Run], str]
    """of a run, for the progress bar"""
    cost: Callable[[Run], float]
    """about proportional to the time that a run takes"""
    folder: Callable[[Run], str] | None = None

    def beyond(
        self,
        name: str,
        about: str,
        runs: Runs[Run],
        judge: Callable[[Grouped], list[Claim]],
        draw: Callable[[Path, Grouped], None],
    ) -> "Study[Run, Measured, Grouped]":
        """A study beyond the paper, whose files have names of their own."""
        return Study(f"study-{name}", about, self, runs, judge, draw)

    def job(self, run: Run, out: Path) -> Callable[[], Measured]:
        more = () if self.folder is None else (out / "data" / self.folder(run),)
        return partial(self.simulate, run, *more)


@dataclass(frozen=True)
class Study(Generic[Run, Measured, Grouped]):
    """A figure, table or scenario of a paper, or a question beyond the paper."""

    name: str
    """of its files"""
    about: str
    """one line for people"""
    simulation: Simulation[Run, Measured, Grouped]
    runs: Runs[Run]
    judge: Callable[[Grouped], list[Claim]]
    """by rules that are stated before anything is run"""
    draw: Callable[[Path, Grouped], None]

    def part(self, quick: bool, seed: int) -> Part[Run, Measured, Grouped]:
        """Each run once. Raises StudyError where there is none, or where no other process can be given it."""
        kind, runs = self.simulation, list(dict.fromkeys(self.runs(quick, seed)))
        if not runs:
            raise StudyError(f"{self.name} has no run")
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
    """A paper as `groupflow reproduce` offers it."""

    about: str
    """one line for people"""
    default: Callable[[bool], Sequence[AnyStudy]]
    """the studies that are run where none is named, of the short variant or the full one"""
    studies: Mapping[str, AnyStudy]
    """by the name that `--study` takes"""
    scenarios: Mapping[str, AnyStudy] = field(default_factory=dict[str, AnyStudy])
    """by the name that `--scenario` takes"""
    across: Callable[[Sequence[Any]], list[Claim]] = lambda _: []
    """claims that compare scenarios, of the outcomes of all complete ones, each once"""


def seeded(
    cases: Callable[[bool], Iterable[Case]],
    run: Callable[[Case, int, bool], Run],
    seeds: int,
    quick_seeds: int,
) -> Runs[Run]:
    """Runs of each case, of the short variant or the full one, with as many seeds each."""

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
