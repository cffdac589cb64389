"""Runs simulations on several cores. What is finished stays, whatever happens to the rest."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from experiments.common.pool import end_when_told, run_all
from groupflow import sim
from papers.takano import network, routers
from papers.takano.outcome import Outcome, load
from papers.takano.plan import Run


def execute(runs: Sequence[Run], out: Path, jobs: int, console: Console) -> Generator[Outcome]:
    """Outcomes as they come; data is in `out`, a folder a run, complete or not there.

    Ctrl-C ends all runs at once and is raised again as KeyboardInterrupt.
    """
    one = partial(run_one, out=out)
    return run_all(one, runs, cores=jobs, console=console, what=lambda outcome: outcome.run.label)


def run_one(run: Run, out: Path) -> Outcome:
    """Runs one simulation and reads what it measured."""
    build = network.scenario if run.control in ("tcp", "dfc") else routers.scenario
    folder = out / run.folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    return load(run, sim.run(build(run), end_when_told, out=folder))
