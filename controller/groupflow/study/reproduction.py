"""What `groupflow reproduce` does: runs a paper's simulations, judges its claims, writes and prints them."""

import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any, TypeAlias

from rich.console import Console

from groupflow.study.errors import RefusedError, RunFailedError, StoppedError, StudyError
from groupflow.study.options import ExperimentOptions
from groupflow.study.paper import AnyStudy, Paper, Simulation
from groupflow.study.part import Part
from groupflow.study.pool import run_all
from groupflow.study.report import RunSummary, report

AnyPart: TypeAlias = Part[Any, Any, Any]


def reproduce(paper: Paper, options: ExperimentOptions) -> None:
    """Whether claims hold is measured, and no error. Raises StudyError.

    Where Ctrl-C or a failed run ends it, the claims of what is finished are written and printed, too.
    """
    studies = choose(paper, options)
    parts = [study.part(options.quick, options.seed) for study in studies]
    simulations = _in_order(studies, parts)
    started = time.monotonic()
    console = Console(stderr=options.json)
    failed: RunFailedError | None = None
    interrupted = False
    try:
        _run(simulations, parts, options, console)
    except KeyboardInterrupt:
        interrupted = True
    except RunFailedError as error:
        failed = error
    except OSError as error:
        raise StudyError(f"{error.filename or options.out}: {error.strerror}; choose another --out") from None
    outcomes = {run: outcome for part in parts for run, outcome in part.measured.items()}
    finished = [outcome for part in parts if part.complete for outcome in part.outcomes]
    claims = paper.across(finished) + [claim for part in parts for claim in part.claims]
    summary = RunSummary.of(list(outcomes.values()), time.monotonic() - started, options)
    report(options, claims, summary, len(outcomes), console)
    done = f"{len(outcomes)} of {len(simulations)} runs"
    if interrupted:
        raise StoppedError(f"interrupted after {done}")
    if failed is not None:
        raise RunFailedError(f"{failed}; {done} are finished")


def choose(paper: Paper, options: ExperimentOptions) -> list[AnyStudy]:
    """What is named, each once; or the whole paper. Raises RefusedError."""
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
    return named or list(paper.default(options.quick))


def _in_order(studies: Sequence[AnyStudy], parts: Sequence[AnyPart]) -> dict[Any, Simulation[Any, Any, Any]]:
    """Runs with their simulations: study after study; of each the longest run first, so that no core waits
    for one of them at the end."""
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
        return simulations[outcome.run].title(outcome.run)

    options.out.mkdir(parents=True, exist_ok=True)
    jobs = [simulation.job(run, options.out) for run, simulation in simulations.items()]
    with closing(run_all(jobs, cores=options.jobs, console=console, what=title)) as outcomes:
        for outcome in outcomes:
            for part in parts:
                part.add(outcome, options.out)
