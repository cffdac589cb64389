"""Runs simulations on several cores."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from rich.console import Console

from experiments.common.pool import end_when_told, run_all
from groupflow import sim
from papers.amcb import network
from papers.amcb.outcome import Outcome, measure
from papers.amcb.paper import NAMES, Run


def execute(runs: Sequence[Run], jobs: int, console: Console) -> Generator[Outcome]:
    """Outcomes as they come. Ctrl-C ends all runs at once and is raised again as KeyboardInterrupt."""
    return run_all(run_one, runs, cores=jobs, console=console, what=_said)


def run_one(run: Run) -> Outcome:
    """Runs one simulation."""
    return measure(run, sim.run(network.scenario(run), end_when_told))


def _said(outcome: Outcome) -> str:
    return f"{NAMES[outcome.run.case.method]}, {outcome.run.case.size:,} bytes"
