"""Binds programs to processors, and reads the processor time and memory that they have used."""

import os
import resource
from collections.abc import Sequence
from pathlib import Path


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
