"""Runs on several cores or machines, with a progress bar. Outcomes are given as they come, even if a later
run fails."""

import logging
import pickle
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import closing, contextmanager
from ctypes import CDLL
from importlib.metadata import version
from multiprocessing import Event
from multiprocessing.synchronize import Event as Flag
from queue import SimpleQueue
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from groupflow import needs
from groupflow.study import StudyError, checkout

Done = TypeVar("Done")

_PR_SET_PDEATHSIG = 1  # prctl(2)
_stop: Flag | None = None
"""in a worker: set when the worker's job must end"""


def run_all(
    jobs: Sequence[Callable[[], Done]],
    *,
    cores: int,
    dask: str | None = None,
    console: Console,
    what: Callable[[Done], str],
) -> Generator[Done]:
    """Results of jobs, in the order in which the jobs end. A job goes to another process: one that
    cannot be pickled would never end. With `dask`, the address of a scheduler, its workers run the jobs.

    After Ctrl-C or an error no other job begins, and jobs of this machine that call `end_when_told` end at
    once; the exception is raised again. Raises StudyError without such a scheduler or its workers.
    """
    title = TextColumn("{task.description}", markup=False)
    columns = (title, BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with (
        _workers(cores) if dask is None else _dask(dask) as pool,
        Progress(*columns, TimeElapsedColumn(), console=console) as bar,
    ):
        task = bar.add_task("runs", total=len(jobs))
        # as_completed would mix those that ended before it was called.
        ended: SimpleQueue[Future[Done]] = SimpleQueue()
        for job in jobs:
            pool.submit(_call, pickle.dumps(job), version("groupflow")).add_done_callback(ended.put)
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


@contextmanager
def _dask(address: str) -> Generator[Executor]:
    """The workers of a scheduler, which gives the jobs of a worker that dies to the others."""
    needs.package("--dask", "distributed")
    from distributed import Client, KilledWorker

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is told in one line, here
    try:
        client: Any = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        cure = "give the address that `dask scheduler` prints, like tcp://10.0.0.1:8786"
        raise StudyError(f"--dask {address}: no scheduler answers there ({error}); {cure}") from None
    with closing(client):
        try:
            client.wait_for_workers(1, timeout=10)
        except TimeoutError:
            cure = f"start some: dask worker {address}"
            raise StudyError(f"--dask {address}: the scheduler has no workers; {cure}") from None
        pool: Any = client.get_executor(pure=False)
        try:
            yield pool
        except (CancelledError, KilledWorker) as error:
            problem = str(error) or "the scheduler is lost"
            raise StudyError(f"--dask {address}: {problem}; look at its log, and run this again") from None
        finally:
            pool.shutdown(wait=False)  # cancels what has not ended


def _call(job: bytes, wanted: str) -> Any:
    """Runs a job at a worker, whose checkout has the modules that the job names."""
    if version("groupflow") != wanted:
        raise StudyError(f"a worker has groupflow {version('groupflow')} instead of {wanted}; start that one")
    checkout.at_hand()
    return pickle.loads(job)()


def end_when_told(_: object) -> None:
    """Ends the job that calls it when all jobs must end. `groupflow.sim.run` calls it as its progress."""
    if _stop is not None and _stop.is_set():
        raise KeyboardInterrupt


def _prepare(stop: Flag) -> None:
    """Prepares a new worker. Ctrl-C reaches all processes of a terminal; workers leave it to the parent, and
    end with it if it is killed."""
    CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
