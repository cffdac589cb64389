"""Runs several networks at once, each in namespaces of its own: names, addresses and ports are the same in
all of them, and a network ends with its namespaces, however its run ends."""

import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments.gather.lab import ERROR, OUTCOME, RUN
from experiments.gather.measured import LabOutcome
from groupflow.data import RUN_FOLDER
from groupflow.processes import Daemon, DaemonError
from groupflow.study import RunFailedError
from papers.sakajiri.paper import NAMES, Run

ROOT = Path(__file__).parents[2]
SETUP_S = 10.0
"""time of a run for network, controller, and taking them down"""
_POLL_S = 0.2
_INSIDE = (
    f"mkdir -p {RUN_FOLDER}; mount -t tmpfs tmpfs {RUN_FOLDER}; ip link set dev lo up; "
    'exec "$0" -m experiments.gather.lab "$1"'
)


def expected_s(runs: Sequence[Run], jobs: int) -> float:
    """Expected duration with `jobs` networks at once, each of which takes the next run when one is over."""
    ends = [0.0] * max(1, min(jobs, len(runs)))
    for run in in_order(runs):
        ends[ends.index(min(ends))] += run.seconds + SETUP_S
    return max(ends)


def in_order(runs: Sequence[Run]) -> list[Run]:
    """The runs, the longest first, so that no core waits for a long run at the end."""
    return sorted(runs, key=lambda run: -run.seconds)


def execute(runs: Sequence[Run], jobs: int, logs: Path, console: Console) -> Generator[LabOutcome]:
    """Outcomes as they come. Raises RunFailedError; however it ends, it leaves no network behind."""
    waiting = deque(in_order(runs))
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar, ExitStack() as stack:
        task = bar.add_task("runs", total=sum(run.seconds + SETUP_S for run in runs))
        running: list[_Running] = []
        over = done = 0.0
        while waiting or running:
            while waiting and len(running) < jobs:
                started = _start(waiting.popleft(), logs)
                stack.callback(started.end)
                running.append(started)
            time.sleep(_POLL_S)
            for lab in [lab for lab in running if not lab.daemon.alive]:
                running.remove(lab)
                over += lab.run.seconds + SETUP_S
                done += 1
                yield lab.outcome()
            now = over + sum(lab.elapsed for lab in running)
            bar.update(task, completed=now, description=f"{done:.0f} of {len(runs)} runs")


@dataclass(frozen=True)
class _Running:
    run: Run
    folder: Path
    daemon: Daemon
    since: float

    @property
    def elapsed(self) -> float:
        """Seconds so far, at most the expected duration."""
        return min(time.monotonic() - self.since, self.run.seconds + SETUP_S)

    def outcome(self) -> LabOutcome:
        """The outcome, once the process has ended. Raises RunFailedError."""
        try:
            self.daemon.check()
        except DaemonError as died:
            error = self.folder / ERROR
            cause = f"{title(self.run)}: {error.read_text().strip()}" if error.exists() else str(died)
            raise RunFailedError(cause) from None
        return TypeAdapter(LabOutcome).validate_json((self.folder / OUTCOME).read_bytes())

    def end(self) -> None:
        """Ends the process, and with `unshare` everything in its namespaces."""
        self.daemon.kill()


def _start(run: Run, logs: Path) -> _Running:
    folder = logs / slug(run)
    shutil.rmtree(folder, ignore_errors=True)  # removes the controller's store of an earlier run
    folder.mkdir(parents=True)
    (folder / RUN).write_bytes(TypeAdapter(Run).dump_json(run))
    # If this process is killed, the kernel ends `unshare` too, and `unshare` all that is in its namespaces.
    unshare = ("unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
    command = (*unshare, "sh", "-ec", _INSIDE, sys.executable, str(folder.resolve()))
    environment = {"PYTHONPATH": str(ROOT)}
    daemon = Daemon(title(run), command, folder / "lab.log", environment=environment, may_end=True)
    daemon.start()
    return _Running(run, folder, daemon, time.monotonic())


def title(run: Run) -> str:
    case = run.case
    model = "Model 2" if case.interference else "Model 1"
    situation = "" if case.situation == "paper" else f", {case.situation}"
    return f"{model}{situation}, {NAMES[case.method]}, {case.tcp}"


def slug(run: Run) -> str:
    """A folder name for a run, different for each run."""
    case = run.case
    links = "-".join(f"{value:g}" for value in vars(case.links).values())
    model = 2 if case.interference else 1
    return f"{model}-{case.method}-{case.tcp}-{case.situation}-{links}-{run.seconds:g}s-{run.seed}"


def may_run() -> bool:
    """Whether this user can make networks."""
    return os.geteuid() == 0
