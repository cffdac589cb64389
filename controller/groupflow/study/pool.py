"""Runs on several cores, with a progress bar. Outcomes are given as they come, even if a later
run fails."""

import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from ctypes import CDLL
from multiprocessing import Event
from multiprocessing.synchronize import Event as Flag
from queue import SimpleQueue
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from groupflow.study import checkout

Done = TypeVar("Done")

_PR_SET_PDEATHSIG = 1  # prctl(2)
_stop: Flag | None = None
"""in a worker: set when the worker's job must end"""


def run_all(
    jobs: Sequence[Callable[[], Done]], *, cores: int, console: Console, what: Callable[[Done], str]
) -> Generator[Done]:
    """Results of jobs, in the order in which the jobs end. A job goes to another process, so it is picklable.

    After Ctrl-C or an error no other job begins, and jobs that call `end_when_told` end at once. Then the
    exception is raised again.
    """
    title = TextColumn("{task.description}", markup=False)
    columns = (title, BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with _workers(cores) as pool, Progress(*columns, TimeElapsedColumn(), console=console) as bar:
        task = bar.add_task("runs", total=len(jobs))
        # as_completed would mix those that ended before it was called.
        ended: SimpleQueue[Future[Done]] = SimpleQueue()
        for job in jobs:
            pool.submit(job).add_done_callback(ended.put)
        for _ in jobs:
            result = ended.get().result()
            bar.update(task, advance=1, description=what(result))
            yield result


@contextmanager
def _workers(cores: int) -> Generator[Executor]:
    """Processes of this machine."""
    stop = Event()
    with ProcessPoolExecutor(cores, initializer=_prepare, initargs=(stop,)) as pool:
        try:
            yield pool
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def end_when_told(_: object) -> None:
    """Ends the job that calls it when all jobs must end. `groupflow.sim.run` calls it as its progress."""
    if _stop is not None and _stop.is_set():
        raise KeyboardInterrupt


def _prepare(stop: Flag) -> None:
    """Prepares a new worker: it finds the checkout's modules that jobs name. Ctrl-C reaches all processes
    of a terminal; workers leave it to the parent, and end with it if it is killed."""
    checkout.at_hand()
    CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
