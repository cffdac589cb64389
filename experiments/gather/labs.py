"""Runs several networks at once, each in namespaces of its own: names, addresses and ports are the same in
all of them, and a network ends with its namespaces, however its run ends."""

import shutil
import sys
import time
from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter
from rich.console import Console

from experiments.gather.lab import ERROR, OUTCOME, RUN
from experiments.gather.measured import LabOutcome
from groupflow.data import RUN_FOLDER
from groupflow.processes import Daemon, DaemonError
from groupflow.study import RunFailedError
from groupflow.study.pool import end_when_told, run_all
from papers.sakajiri.paper import NAMES, Run

ROOT = Path(__file__).parents[2]
_POLL_S = 0.2
_INSIDE = (
    f"mkdir -p {RUN_FOLDER}; mount -t tmpfs tmpfs {RUN_FOLDER}; ip link set dev lo up; "
    'exec "$0" -m experiments.gather.lab "$1"'
)


def execute(runs: Sequence[Run], jobs: int, logs: Path, console: Console) -> Generator[LabOutcome]:
    """Outcomes as they come. Raises RunFailedError; however it ends, it leaves no network behind."""
    # The longest first, so that no core waits for a long run at the end.
    each = [partial(_carry_out, run, logs) for run in sorted(runs, key=lambda run: -run.seconds)]
    return run_all(each, cores=jobs, console=console, what=lambda outcome: title(outcome.run))


def _carry_out(run: Run, logs: Path) -> LabOutcome:
    """One run, in a process with namespaces of its own, of which nothing is left. Raises RunFailedError."""
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
    try:
        while daemon.alive:
            end_when_told(None)
            time.sleep(_POLL_S)
        daemon.check()
    except DaemonError as died:
        error = folder / ERROR
        cause = f"{title(run)}: {error.read_text().strip()}" if error.exists() else str(died)
        raise RunFailedError(cause) from None
    finally:
        daemon.kill()
    return TypeAdapter(LabOutcome).validate_json((folder / OUTCOME).read_bytes())


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
