"""Runs of an experiment on several cores, with a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

Job = TypeVar("Job")
Done = TypeVar("Done")


def run_all(
    one: Callable[[Job], Done],
    jobs: Sequence[Job],
    *,
    cores: int,
    console: Console,
    what: Callable[[Done], str],
) -> Iterator[Done]:
    """What `one` makes of each job, as they are done. `one` and the jobs go to other processes.

    Interrupted, or after an error, what has not begun is not begun any more.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with (
        Progress(*columns, TimeElapsedColumn(), console=console) as bar,
        ProcessPoolExecutor(cores) as pool,
    ):
        task = bar.add_task("runs", total=len(jobs))
        pending = [pool.submit(one, job) for job in jobs]
        try:
            for done in as_completed(pending):
                result = done.result()
                bar.update(task, advance=1, description=what(result))
                yield result
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
