"""Binds programs to processors, and reads the processor time that they have used."""

from collections.abc import Sequence
from pathlib import Path


def on(cpus: Sequence[int]) -> Sequence[str]:
    """Words before a command that bind it to these processors; none are all."""
    return ["taskset", "-c", ",".join(map(str, cpus))] if cpus else []


def cpu_ns(pid: int) -> int:
    """Processor time of all threads of a process up to now."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)
