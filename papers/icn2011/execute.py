"""Runs simulations on several cores."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from rich.console import Console

from experiments.common.pool import end_when_told, run_all
from groupflow import sim
from papers.icn2011 import network
from papers.icn2011.outcome import Outcome, measure
from papers.icn2011.plan import Run


def execute(runs: Sequence[Run], jobs: int, console: Console) -> Generator[Outcome]:
    """Outcomes as they come. Ctrl-C ends all runs at once and is raised again as KeyboardInterrupt."""
    return run_all(run_one, runs, cores=jobs, console=console, what=_said)


def run_one(run: Run) -> Outcome:
    """Runs one simulation."""
    scenario = network.scenario(run.case, seconds=run.seconds, seed=run.seed)
    return measure(run, sim.run(scenario, end_when_told))


def _said(outcome: Outcome) -> str:
    case = outcome.run.case
    return f"{case.method} {case.load:g}"
