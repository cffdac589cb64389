"""Runs simulations on several cores."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence

from rich.console import Console

from experiments.common.pool import end_when_told, run_all
from groupflow.sim import gather
from papers.sakajiri import network
from papers.sakajiri.outcome import Outcome, measure
from papers.sakajiri.paper import NAMES, Run


def execute(runs: Sequence[Run], jobs: int, console: Console) -> Generator[Outcome]:
    """Outcomes as they come. Ctrl-C ends all runs at once and is raised again as KeyboardInterrupt."""
    return run_all(run_one, runs, cores=jobs, console=console, what=_said)


def run_one(run: Run) -> Outcome:
    """Runs one simulation."""
    started = time.monotonic()
    rounds, hops = gather.run(network.scenario(run), network.gathering(run), end_when_told)
    return measure(run, rounds, hops, time.monotonic() - started)


def _said(outcome: Outcome) -> str:
    return NAMES[outcome.run.case.method]
