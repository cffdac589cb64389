"""A measured figure; programs that measure, which are examples of the Rust workspace; processors, and
their time."""

import json
import resource
import subprocess
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from groupflow.study import StudyError

Contender = TypeVar("Contender")
Round = TypeVar("Round")


class Figure(NamedTuple):
    """A measured quantity: its name, value and unit, and a note on how to read it."""

    name: str
    value: float
    unit: str
    note: str


_WORKSPACE = Path(__file__).parents[2] / "dataplane"


@cache
def example(package: str, name: str, *features: str) -> Path:
    """Builds one where it is older than its sources, once in this process. Raises StudyError."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", package, "--example", name]
    command += [f"--features={feature}" for feature in features]
    if subprocess.run(command, cwd=_WORKSPACE, check=False).returncode:
        raise StudyError(f"{' '.join(command)} failed (messages above)")
    return _WORKSPACE / "target" / "release" / "examples" / name


def told(*command: Path | str) -> list[Any]:
    """The lines of JSON that a program prints. Raises StudyError with its last error."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StudyError(f"{command[0]}: {(done.stderr.strip() or done.returncode)}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def in_turns(
    contenders: Iterable[Contender], rounds: int, measure: Callable[[Contender], Round]
) -> dict[Contender, list[Round]]:
    """Measurements of each, one after the other in each round, so that other work of the machine slows all of
    them alike."""
    turns = [{each: measure(each) for each in contenders} for _ in range(rounds)]
    return {each: [turn[each] for turn in turns] for each in turns[0]}


def on(cpus: Sequence[int]) -> Sequence[str]:
    """Words before a command that bind it to these processors; none are all."""
    return ["taskset", "-c", ",".join(map(str, cpus))] if cpus else []


def cpu_ns(pid: int) -> int:
    """Processor time of all threads of a process up to now."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)


def ended_s() -> float:
    """Processor time in s of this process's children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
