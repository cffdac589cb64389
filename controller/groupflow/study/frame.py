"""Runs papers and experiments: outcomes as they come, then findings, files, tables, and what went wrong.

The figures of a run whose switches lagged behind are about the machine: the experiment says so, and fails.
Where a run fails, or Ctrl-C comes, the finished runs are kept: their claims, tables, figures and files.
"""

import json
import time
from collections.abc import Generator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial
from subprocess import CalledProcessError
from typing import Any, TypeVar, cast

from groupflow.errors import foreseen
from groupflow.study import StoppedError, StudyError, report
from groupflow.study.claims import Claim
from groupflow.study.experiment import Experiment, Findings, Frame, StudyOptions
from groupflow.study.files import into, write_json
from groupflow.study.pool import run_all
from groupflow.units import counted

Done = TypeVar("Done")
NO_VERDICT = "short runs (--quick) are no verdict on the paper: leave --quick out to judge its claims"


def run(experiment: Experiment, options: StudyOptions) -> None:
    """Claims that do not hold are a result, not an error. Raises StudyError when all is written; a mistake of
    the experiment itself as it is."""
    frame = Frame[Any](experiment, options)
    done: list[Any] = []

    def kept() -> str:
        if experiment.measure:
            return f"{counted(len(done), 'run')} kept"
        return f"{len(done)} of {len(frame.runs)} runs kept"

    kind: type[StudyError] = StudyError
    problems: list[str] = []
    mistake: Exception | None = None
    with into(options.out):
        options.out.mkdir(parents=True, exist_ok=True)
    try:
        with closing((experiment.measure or simulated)(frame)) as outcomes:
            for outcome in outcomes:
                done.append(outcome)
    except KeyboardInterrupt:
        kind, problems = StoppedError, [f"interrupted; {kept()}"]
    except Exception as error:  # noqa: BLE001 (raised below, when results are written)
        cause = _expected(error)
        if cause is None:
            mistake = error
        else:
            kind = type(cause) if isinstance(cause, StudyError) else StudyError
            problems = [str(cause) or "no answer in time", *([kept()] if done else [])]
    if done:
        try:
            with into(options.out):
                findings = (experiment.find or judged)(frame, done)
                mistake = mistake or findings.mistake
                problems += [findings.failed] if findings.failed else []
                _tell(frame, findings)
        except StudyError as error:
            problems.append(str(error))
    if mistake:
        raise mistake
    if frame.lagging:
        problems.append(f"CPU-bound, do not trust the figures: {', '.join(frame.lagging)}")
    if problems:
        raise kind("; ".join(problems))


def _expected(error: Exception) -> Exception | None:
    """The cause, where it is no mistake of the experiment's; of a group, its first."""
    if isinstance(error, ExceptionGroup):
        causes = [_expected(each) for each in cast("ExceptionGroup[Exception]", error).exceptions]
        return None if None in causes else causes[0]
    return error if isinstance(error, CalledProcessError | BrokenProcessPool) else foreseen(error)


def _tell(frame: Frame[Any], findings: Findings) -> None:
    try:
        for name, form in findings.files.items():
            write_json(frame.options.out / name, form)
    finally:
        if frame.options.json:
            print(json.dumps(findings.told, indent=2))
        else:
            for each in (*findings.shown, f"data: {frame.options.out}"):
                frame.console.print(each, markup=not isinstance(each, str))


def simulated(frame: Frame[Done]) -> Generator[Done]:
    """Outcomes of simulated runs on all cores: study after study; of each the longest run first, so that no
    core waits for one run at the end."""
    options = frame.options
    simulations = {
        run: part.simulation
        for part in frame.parts
        for run in sorted(part.runs, key=part.simulation.cost, reverse=True)
    }

    def title(outcome: Any) -> str:
        if outcome.run not in simulations:
            raise StudyError(f"the outcome of a run names another run, {outcome.run}")
        return simulations[outcome.run].title(outcome.run)

    jobs = [simulation.job(run, options.out) for run, simulation in simulations.items()]
    done = run_all(jobs, cores=options.cores, console=frame.console, what=title)
    with closing(done) as outcomes:
        for outcome in outcomes:
            yield outcome
            frame.take(outcome)
    if missing := [part.study.name for part in frame.parts if not part.complete]:
        raise StudyError(f"{', '.join(missing)}: outcomes are missing; each outcome has to name its run")


def claims_of(frame: Frame[Any]) -> tuple[list[Claim], Exception | None]:
    """Claims of the complete studies, and the first error of those that cannot be judged, which do not stop
    the others."""
    finished = {each.run: each for part in frame.parts if part.complete for each in part.outcomes}
    judges = [partial(frame.experiment.across, list(finished.values()))]
    claims: list[Claim] = []
    error: Exception | None = None
    for judge in (*judges, *(part.claims for part in frame.parts)):
        try:
            claims += judge()
        except Exception as failed:  # noqa: BLE001 (raised when all is written)
            error = error or failed
    return claims, error


def judged(frame: Frame[Any], outcomes: Sequence[Any]) -> Findings:
    """Claims of simulated studies, and the work that they took."""
    claims, mistake = claims_of(frame)
    options, wall_s = frame.options, time.monotonic() - frame.started
    hops = int(sum(outcome.packet_hops for outcome in outcomes))
    work = {
        "wall_s": round(wall_s, 3),
        "simulated_s": round(sum(outcome.simulated_s for outcome in outcomes), 6),
        "packet_hops": hops,
        "seed": options.seed,
        "quick": options.quick,
        **report.counted(claims),
    }
    told = {"claims": [claim.form() for claim in claims], "run": work}
    files = {f"{name}.json": form for name, form in told.items()}
    if options.quick:
        frame.console.print(NO_VERDICT)
    last = f"{counted(len(outcomes), 'run')}, {hops / 1e6:.0f} million packet hops in {wall_s:.0f} s"
    warning = [NO_VERDICT] if options.quick else []
    return Findings(files, told, [*report.shown(claims), last, *warning], mistake=mistake)
