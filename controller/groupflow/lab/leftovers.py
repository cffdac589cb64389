"""Records the interfaces and processes of each run, so that those of a crashed run can be removed, by name.

Each run keeps a file in RUN_FOLDER for as long as it lives, locked by the kernel: if the file can be locked,
its run is over, however it ended.
"""

import fcntl
import json
import logging
import os
import signal
import socket
import subprocess
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Self

from groupflow.data import RUN_FOLDER
from groupflow.errors import InvalidError

log = logging.getLogger(__name__)


class Reservation:
    """This run's interfaces of the root namespace, and its processes. Removes those of dead runs."""

    def __init__(self, interfaces: Iterable[str], folder: Path = RUN_FOLDER) -> None:
        self._interfaces = sorted(interfaces)
        self._folder = folder
        self._path = folder / f"{os.getpid()}-{id(self):x}.json"
        self._file: IO[str] | None = None
        self._processes: dict[int, int] = {}

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        with alone(self._folder):
            for path in sorted(self._folder.glob("*.json")):
                self._inspect(path)
            taken = [name for name in self._interfaces if interface_exists(name)]
            if taken:
                raise InvalidError(
                    f"interface {taken[0]} exists, not groupflow's; remove it: ip link delete {taken[0]}"
                )
            self._file = self._path.open("w")
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self._write()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._file is not None
        self._path.unlink(missing_ok=True)
        self._file.close()

    def add_process(self, pid: int) -> None:
        """Adds a process to this run: the next run ends the process if this run crashes."""
        started = start_time(pid)
        if started is not None:
            self._processes[pid] = started
            self._write()

    def _write(self) -> None:
        assert self._file is not None
        self._file.seek(0)
        self._file.truncate()
        json.dump({"interfaces": self._interfaces, "processes": list(self._processes.items())}, self._file)
        self._file.flush()

    def _inspect(self, path: Path) -> None:
        with path.open() as file:
            if not lock(file):
                self._refuse_overlap(path)
                return
            _remove_leftovers(path)
            path.unlink(missing_ok=True)

    def _refuse_overlap(self, path: Path) -> None:
        shared = set(_read(path)[0]) & set(self._interfaces)
        if shared:
            pid = path.stem.partition("-")[0]
            raise InvalidError(
                f"interface {min(shared)} belongs to another run (pid {pid}); end that run, or wait for it"
            )


@contextmanager
def alone(folder: Path) -> Generator[None]:
    """One process at a time looks at the files of a folder and claims what they name."""
    try:
        file = (folder / "lock").open("a")
    except PermissionError:
        raise InvalidError("networks are root's; use sudo") from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def lock(file: IO[str]) -> bool:
    """Locks a file until it is closed; False: the process that it is of still runs."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def interface_exists(name: str) -> bool:
    return name in {present for _, present in socket.if_nameindex()}


def delete_interfaces(names: Iterable[str]) -> None:
    """Deletes those of the interfaces that exist, each with its peer."""
    for name in names:
        if interface_exists(name):  # it may have gone with its peer
            subprocess.run(["ip", "link", "delete", name], check=False, capture_output=True)


def start_time(pid: int) -> int | None:
    """Start of a process in clock ticks since boot, unique together with its pid. None: it does not exist."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat.rpartition(")")[2].split()[19])  # field 22 of proc(5); the name before may hold spaces


def _remove_leftovers(path: Path) -> None:
    interfaces, processes = _read(path)
    ended = [pid for pid, started in processes if start_time(pid) == started]
    for pid in ended:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    present = [name for name in interfaces if interface_exists(name)]
    delete_interfaces(present)
    if ended or present:
        log.warning(
            "removed leftovers of a run that did not end well: interfaces=%s processes=%s",
            ",".join(present) or "none",
            ",".join(map(str, ended)) or "none",
        )


def _read(path: Path) -> tuple[list[str], list[tuple[int, int]]]:
    """Interfaces and (pid, start time) of a run; none when the run died before it wrote its file."""
    try:
        form = json.loads(path.read_text())
        return list(form["interfaces"]), [(pid, started) for pid, started in form["processes"]]
    except (ValueError, KeyError, TypeError):
        return [], []
