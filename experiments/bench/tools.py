"""A measured figure; programs that measure, which are examples of the Rust workspace; processors, their time
and memory."""

import os
import resource
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from groupflow.study import StudyError


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


def on(cpus: Sequence[int]) -> Sequence[str]:
    """Words before a command that bind it to these processors; none are all."""
    return ["taskset", "-c", ",".join(map(str, cpus))] if cpus else []


def cpu_ns(pid: int) -> int:
    """Processor time of all threads of a process up to now."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)


def used_s(pid: int) -> float:
    """Processor time of a process and its threads in s, those that have ended, too: proc(5)."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def ended_s() -> float:
    """Processor time in s of this process's children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def memory_bytes(pid: int, field: str) -> int:
    """Memory of a process: `VmRSS`, resident, or `VmHWM`, its peak."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in status if line.startswith(f"{field}:"))
