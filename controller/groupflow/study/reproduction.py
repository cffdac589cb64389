"""`groupflow reproduce`: runs a paper's simulations, judges its claims, writes and prints them."""

import time
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from functools import partial
from typing import Any, Never, TypeAlias

from rich.console import Console

from groupflow.study.claims import Claim
from groupflow.study.errors import RefusedError, RunFailedError, StoppedError, StudyError
from groupflow.study.files import into
from groupflow.study.options import ExperimentOptions
from groupflow.study.paper import AnyStudy, Paper, Simulation
from groupflow.study.part import Part
from groupflow.study.pool import run_all
from groupflow.study.report import RunSummary, report

AnyPart: TypeAlias = Part[Any, Any, Any]


def reproduce(paper: Paper, options: ExperimentOptions) -> None:
    """Runs a paper. Claims that do not hold are a result, not an error. Raises StudyError.

    If an error ends the runs, the claims of finished studies are written and printed first. A mistake in
    the paper's code raises its own exception.
    """
    studies = choose(paper, options)
    parts = [study.part(options.quick, options.seed) for study in studies]
    simulations = _in_order(studies, parts)
    started = time.monotonic()
    console = Console(stderr=options.json)
    with into(options.out):
        options.out.mkdir(parents=True, exist_ok=True)
    ended: list[BaseException] = []
    try:
        _run(simulations, parts, options, console)
    except BaseException as error:  # noqa: BLE001 (raised below)
        ended.append(error)
    claims = _judge(paper, parts, ended)
    outcomes = list({run: outcome for part in parts for run, outcome in part.measured.items()}.values())
    summary = RunSummary.of(outcomes, time.monotonic() - started, options)
    try:
        report(options, claims, summary, len(outcomes), console)
    except StudyError as error:
        ended.append(error)
    for other in ended[1:]:
        console.print(f"{type(other).__name__}: {other}", markup=False)
    if ended:
        _raise(ended[0], f"{len(outcomes)} of {len(simulations)} runs")


def _judge(paper: Paper, parts: Sequence[AnyPart], ended: list[BaseException]) -> list[Claim]:
    """Claims of finished studies. A study whose claims cannot be judged does not stop the others."""
    finished = {outcome.run: outcome for part in parts if part.complete for outcome in part.outcomes}
    judges = [partial(paper.across, list(finished.values()))]
    judges += [partial(getattr, part, "claims") for part in parts]
    claims: list[Claim] = []
    for judge in judges:
        try:
            claims += judge()
        except Exception as error:  # noqa: BLE001 (raised when all is written)
            ended.append(error)
    return claims


def _raise(error: BaseException, done: str) -> Never:
    """Raises the error that ended the studies, in the command's words; `done` tells the finished runs."""
    if isinstance(error, KeyboardInterrupt):
        raise StoppedError(f"interrupted after {done}")
    if isinstance(error, RunFailedError):
        raise RunFailedError(f"{error}; {done} are finished")
    if isinstance(error, StudyError | OSError | BrokenProcessPool):
        raise StudyError(f"{error}; {done} are finished") from error
    raise error


def choose(paper: Paper, options: ExperimentOptions) -> list[AnyStudy]:
    """The named studies, each once; or the whole paper. Raises RefusedError."""
    scenarios, studies = (dict.fromkeys(names) for names in (options.scenarios, options.studies))
    for name in scenarios:
        if not paper.scenarios:
            advice = "this paper has none; leave it out, or choose a --study"
            raise RefusedError(f"--scenario {name}: {advice}")
        if name not in paper.scenarios:
            raise RefusedError(f"--scenario {name}: the paper has {', '.join(paper.scenarios)}")
    for name in studies:
        if name not in paper.studies:
            raise RefusedError(f"--study {name}: there are {', '.join(paper.studies)}")
        if scenarios:
            advice = "studies choose their scenarios; give --scenario or --study, not both"
            raise RefusedError(f"--study {name}: {advice}")
    named = [paper.scenarios[name] for name in scenarios] + [paper.studies[name] for name in studies]
    chosen = named or list(paper.default(options.quick))
    if not chosen:
        raise RefusedError("the paper runs nothing by itself; choose a --study or a --scenario")
    return chosen


def _in_order(studies: Sequence[AnyStudy], parts: Sequence[AnyPart]) -> dict[Any, Simulation[Any, Any, Any]]:
    """Runs with their simulations: study after study; of each the longest run first, so that no core waits
    for one run at the end."""
    return {
        run: study.simulation
        for study, part in zip(studies, parts, strict=True)
        for run in sorted(part.runs, key=study.simulation.cost, reverse=True)
    }


def _run(
    simulations: dict[Any, Simulation[Any, Any, Any]],
    parts: Sequence[AnyPart],
    options: ExperimentOptions,
    console: Console,
) -> None:
    def title(outcome: Any) -> str:
        if outcome.run not in simulations:
            raise StudyError(f"the outcome of a run names another run, {outcome.run}")
        return simulations[outcome.run].title(outcome.run)

    jobs = [simulation.job(run, options.out) for run, simulation in simulations.items()]
    done = run_all(jobs, cores=options.jobs, dask=options.dask, console=console, what=title)
    with closing(done) as outcomes:
        for outcome in outcomes:
            with into(options.out), ExitStack() as every:  # a part that cannot be drawn does not stop others
                for part in reversed(parts):
                    every.callback(part.add, outcome, options.out)
    if missing := [part.name for part in parts if not part.complete]:
        raise StudyError(f"{', '.join(missing)}: outcomes are missing; each outcome has to name its run")
