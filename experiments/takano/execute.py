"""Runs simulations on several cores. What is finished stays, whatever happens to the rest."""

from __future__ import annotations

import signal
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import Event
from multiprocessing.synchronize import Event as Flag
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from experiments.takano import network, routers
from experiments.takano.outcome import Outcome, load
from experiments.takano.plan import Run
from groupflow import sim

_stop: Flag | None = None
"""in a worker: set when its run is to end"""


def execute(runs: Sequence[Run], out: Path, jobs: int, console: Console) -> Generator[Outcome]:
    """Outcomes as they come; data is in `out`, a folder a run, complete or not there.

    Ctrl-C ends all runs at once and is raised again as KeyboardInterrupt.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    stop = Event()
    with (
        Progress(*columns, TimeElapsedColumn(), console=console) as bar,
        ProcessPoolExecutor(jobs, initializer=_prepare, initargs=(stop,)) as pool,
    ):
        task = bar.add_task("runs", total=len(runs))
        pending = [pool.submit(partial(run_one, run, out)) for run in runs]
        try:
            for done in as_completed(pending):
                outcome = done.result()
                bar.update(task, advance=1, description=outcome.run.label)
                yield outcome
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def run_one(run: Run, out: Path) -> Outcome:
    """Runs one simulation and reads what it measured."""
    build = network.scenario if run.control in ("tcp", "dfc") else routers.scenario
    folder = out / run.folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    return load(run, sim.run(build(run), _end_when_told, out=folder))


def _prepare(stop: Flag) -> None:
    """In a new worker. Ctrl-C reaches all processes of a terminal: the parent says what follows from it."""
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_when_told(_: sim.Progress) -> None:
    if _stop is not None and _stop.is_set():
        raise KeyboardInterrupt
