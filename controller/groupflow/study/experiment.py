"""What a paper and an experiment declare: studies, their runs, and what becomes of the outcomes."""

import os
import pickle
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from groupflow.model.fields import Help, Range
from groupflow.study import RefusedError, StudyError
from groupflow.study.claims import Claim
from groupflow.study.files import into, write_rows

if TYPE_CHECKING:
    from rich.console import RenderableType


class Outcome(Protocol):
    """The measurements of a simulated run that the frame needs."""

    @property
    def run(self) -> Any:
        """The run that gave this outcome."""
        ...

    @property
    def simulated_s(self) -> float: ...
    @property
    def packet_hops(self) -> int: ...


Case = TypeVar("Case")
Run = TypeVar("Run")
Measured = TypeVar("Measured", bound=Outcome)
Done = TypeVar("Done")
Item = TypeVar("Item")
Key = TypeVar("Key")
Grouped = TypeVar("Grouped")
"""the form of outcomes for a study's rules and figures, by the quantities that the study varies"""
Runs: TypeAlias = Callable[[bool, int], list[Run]]
"""makes the runs of the short variant or of the full one, with seeds from this one on"""
Option: TypeAlias = Literal["only", "quick", "seed", "jobs"]


def nothing(path: Path, found: object) -> None:
    """Draws no figure."""


@dataclass(frozen=True)
class StudyOptions:
    """Options of papers and experiments. Behind `json`, each takes some of them: `Experiment.takes`."""

    out: Annotated[Path, Help("folder for data and figures (default: in ./out)", "FOLDER")] = Path("out")
    json: bool = False
    """print the result for machines instead of a table"""
    only: Annotated[tuple[str, ...], Help("part to run, of those below; * stands for any text", "ID")] = ()
    """none: those that run by default"""
    quick: Annotated[bool, Help("short runs, which show that everything works, and are no verdict")] = False
    seed: Annotated[int, Help("the first of all seeds", "N")] = 1
    jobs: Annotated[int | None, Help("runs side by side (default: one a core)", "N"), Range(1)] = None

    @property
    def cores(self) -> int:
        return self.jobs or os.cpu_count() or 1


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

    def study(
        self,
        name: str,
        about: str,
        runs: Runs[Run],
        judge: Callable[[Grouped], Iterable[Claim]],
        draw: Callable[[Path, Grouped], None] = nothing,
        *figures: str,
    ) -> "Study[Run, Measured, Grouped]":
        """A figure, table or scenario of a paper."""
        return Study(name, about, runs, self, judge, draw, figures)

    def beyond(
        self,
        name: str,
        about: str,
        runs: Runs[Run],
        judge: Callable[[Grouped], Iterable[Claim]],
        draw: Callable[[Path, Grouped], None] = nothing,
    ) -> "Study[Run, Measured, Grouped]":
        """A study beyond the paper, whose files have their own names."""
        return self.study(f"study-{name}", about, runs, judge, draw)

    def job(self, run: Run, out: Path) -> Callable[[], Measured]:
        more = () if self.folder is None else (out / "data" / self.folder(run),)
        return partial(self.simulate, run, *more)


@dataclass(frozen=True)
class Study(Generic[Run, Measured, Grouped]):
    """A figure, table or scenario of a paper, a question beyond it, or a part of an experiment."""

    name: str
    """name of its files"""
    about: str
    """one line for people"""
    runs: Runs[Run]
    simulation: Simulation[Run, Measured, Grouped] | None = None
    """None: the experiment measures the runs, judges and draws them in its own way"""
    judge: Callable[[Grouped], Iterable[Claim]] = lambda _: ()
    """claims, by rules that were stated before any run"""
    draw: Callable[[Path, Grouped], None] = nothing
    figures: tuple[str, ...] = ()
    """further ids: those of the paper's figures that it draws"""

    @property
    def ids(self) -> tuple[str, ...]:
        """What `--only` takes."""
        return (self.name.removeprefix("study-"), *self.figures)

    def planned(self, quick: bool, seed: int) -> list[Run]:
        """Each run once. Raises StudyError without runs, or if other processes cannot be given one."""
        runs = list(dict.fromkeys(self.runs(quick, seed)))
        if not runs:
            raise StudyError(f"{self.name} has no runs")
        simulate = self.simulation and self.simulation.simulate
        sent = (("simulate", simulate, "a function of a module"), ("a run", runs, "picklable"))
        for what, value, must in sent if simulate else ():
            try:
                pickle.dumps(value)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise StudyError(f"{what} of {self.name} is not {must}: {error}") from error
        return runs


AnyStudy: TypeAlias = Study[Any, Any, Any]


@dataclass(frozen=True)
class Experiment:
    """A paper or an experiment: the `EXPERIMENT` of its folder."""

    about: str
    """one line for people"""
    studies: Sequence[AnyStudy]
    """all that `--only` takes"""
    default: Callable[[bool], Sequence[AnyStudy]] | None = None
    """the studies that are run where none is named, in the short variant or the full one; None: all"""
    across: Callable[[Sequence[Any]], list[Claim]] = lambda _: []
    """claims that compare studies, from the outcomes of all complete ones, each once"""
    takes: Collection[Option] = ("only", "quick", "seed", "jobs")
    """the options that change something; all others are refused"""
    measure: Callable[["Frame[Any]"], Generator[Any]] | None = None
    """gives outcomes as they come; None: simulates the runs of all studies"""
    find: Callable[["Frame[Any]", Sequence[Any]], "Findings"] | None = None
    """the findings of the outcomes there are, at least one; None: the studies' claims"""
    options: type[StudyOptions] = StudyOptions

    def by_default(self, quick: bool) -> Sequence[AnyStudy]:
        return self.studies if self.default is None else self.default(quick)

    def study(self, id: str) -> AnyStudy:
        return next(each for each in self.studies if id in each.ids)

    def chosen(self, options: StudyOptions) -> list[AnyStudy]:
        """The named studies, each once and in the order of the names. Raises RefusedError for a name or an
        option that it does not take."""
        for option in fields(StudyOptions)[2:]:
            if getattr(options, option.name) != option.default and option.name not in self.takes:
                raise RefusedError(f"--{option.name} changes nothing here; leave it out")
        found: dict[str, AnyStudy] = {}
        for name in options.only:
            named = [each for each in self.studies if any(fnmatchcase(id, name) for id in each.ids)]
            if not named:
                known = ", ".join(id for each in self.studies for id in each.ids)
                raise RefusedError(f"{name}: unknown; there are {known}")
            found |= {each.name: each for each in named}
        chosen = list(found.values()) if options.only else list(self.by_default(options.quick))
        if not chosen:
            raise RefusedError("nothing runs by default; choose with --only")
        return chosen


def always(*found: Run) -> Runs[Run]:
    """The same runs in the short variant and with any seed."""

    def runs(quick: bool, seed: int) -> list[Run]:
        del quick, seed
        return list(found)

    return runs


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


def grouped(items: Iterable[Item], by: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items that have the same key, by keys; all in their order."""
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(by(item), []).append(item)
    return found


def by_case(outcomes: Iterable[Any]) -> dict[Any, list[Any]]:
    """Outcomes of each case, in the order of the runs."""
    return grouped(outcomes, lambda outcome: outcome.run.case)


@dataclass(frozen=True)
class Findings:
    """The results of the finished runs."""

    files: Mapping[str, object]
    """JSON documents to write, by file name"""
    told: object
    """printed with --json"""
    shown: "Sequence[RenderableType]"
    """printed to the terminal without --json"""
    failed: str = ""
    """a condition of the experiment that does not hold"""
    mistake: Exception | None = None
    """raised when all is written: some claims could not be judged"""


@dataclass(frozen=True)
class Part:
    """A study under way, whose files are written when the last of its runs is over; parts may share runs."""

    study: AnyStudy
    runs: list[Any]
    measured: dict[Any, Any] = field(default_factory=dict[Any, Any])

    @cached_property
    def simulation(self) -> Simulation[Any, Any, Any]:
        assert self.study.simulation, f"{self.study.name} groups no outcomes"
        return self.study.simulation

    @cached_property
    def _wanted(self) -> frozenset[Any]:
        return frozenset(self.runs)

    def add(self, outcome: Any, options: StudyOptions) -> None:
        """Takes an outcome; ignores outcomes of runs that are not its own."""
        if outcome.run not in self._wanted:
            return
        self.measured[outcome.run] = outcome
        if self.complete:
            name = self.study.name
            rows = [row for each in self.outcomes for row in self.simulation.rows(each)]
            write_rows(options.out / f"{name}.csv", rows)
            self.study.draw(options.out / f"{name}.png", self.simulation.group(self.outcomes))

    @property
    def complete(self) -> bool:
        return len(self.measured) == len(self.runs)

    @property
    def outcomes(self) -> list[Any]:
        """Outcomes of the finished runs, in the order of the runs."""
        return [self.measured[run] for run in self.runs if run in self.measured]

    def claims(self) -> list[Claim]:
        """The claims; none before all runs are over."""
        return list(self.study.judge(self.simulation.group(self.outcomes))) if self.complete else []


class Frame(Generic[Done]):
    """An experiment under way."""

    def __init__(self, experiment: Experiment, options: StudyOptions) -> None:
        """Raises RefusedError for an option that the experiment does not have, and StudyError for a study
        that cannot be run."""
        from rich.console import Console

        self.experiment = experiment
        self.options = options
        self.parts = [
            Part(study, study.planned(options.quick, options.seed)) for study in experiment.chosen(options)
        ]
        self.console = Console(stderr=options.json)
        self.lagging: list[str] = []
        """a line for each switch that lagged behind; the runs add to it"""
        self.started = time.monotonic()

    @property
    def runs(self) -> list[Any]:
        """All runs, each once."""
        return list(dict.fromkeys(run for part in self.parts for run in part.runs))

    def take(self, outcome: Any) -> None:
        """Gives the outcome to the parts, whose files may now be complete. A part that cannot be drawn does
        not keep the outcome from the others."""
        with into(self.options.out), ExitStack() as every:
            for part in reversed(self.parts):
                every.callback(part.add, outcome, self.options)
