"""The networks that run on this machine, by name and by interfaces: a file each, locked while they run."""

import fcntl
import json
import logging
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Literal, Self, TypeAlias

from groupflow.data import RUN_FOLDER
from groupflow.errors import Error, InvalidError, Kind

log = logging.getLogger(__name__)


class Reservation:
    """This run's interfaces of the root namespace. Removes those of dead runs.

    Each run keeps a file in RUN_FOLDER for as long as it lives, locked by the kernel: if the file can be
    locked, its run is over, however it ended. The kernel ends a run's processes with it (`processes.Daemon`).
    """

    def __init__(self, interfaces: Iterable[str], folder: Path = RUN_FOLDER) -> None:
        self._interfaces = sorted(interfaces)
        self._folder = folder
        self._path = folder / f"{os.getpid()}-{id(self):x}.json"
        self._file: IO[str] | None = None

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
            json.dump({"interfaces": self._interfaces}, self._file)
            self._file.flush()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._file is not None
        self._path.unlink(missing_ok=True)
        self._file.close()

    def _inspect(self, path: Path) -> None:
        with path.open() as file:
            interfaces = _interfaces(path)
            if lock(file):
                present = [name for name in interfaces if interface_exists(name)]
                delete_interfaces(present)
                path.unlink(missing_ok=True)
                if present:
                    names = ",".join(present)
                    log.warning("removed leftovers of a run that did not end well: interfaces=%s", names)
            elif shared := {*interfaces} & {*self._interfaces}:
                run = f"another run (pid {path.stem.partition('-')[0]})"
                raise InvalidError(f"interface {min(shared)} belongs to {run}; end that run, or wait for it")


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


def _interfaces(path: Path) -> list[str]:
    """Interfaces of a run; none when the run died before it wrote its file."""
    try:
        return list(json.loads(path.read_text())["interfaces"])
    except (ValueError, KeyError, TypeError):
        return []


SwitchKind: TypeAlias = Literal["gfswitch", "bmv2"]
FOLDER = RUN_FOLDER / "networks"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")


@dataclass(frozen=True)
class Entry:
    """One running network."""

    name: str
    topology: str
    switch: str
    """the kind of its switches"""
    pid: int
    """the process that runs the network, in the namespaces of the switches"""
    hosts: Mapping[str, int]
    """a process in the namespaces of each host"""
    addresses: Mapping[str, str]
    """of the hosts"""
    switches: tuple[str, ...]
    api: str | None
    """URL of the controller; None: the network runs without one"""
    folder: str
    """logs and the controller's store"""

    def launcher(self, node: str) -> tuple[str, ...]:
        """Words before a command that run it at a node."""
        return ("mnexec", "-a", str(self.hosts.get(node, self.pid)))

    def command(self, node: str, words: Sequence[str], path: str) -> list[str]:
        """The command that runs a program at a node. Raises Error if no program on PATH has that name."""
        if shutil.which(words[0], path=path) is None:
            raise Error(f"{node}: no program {words[0]}; name one on PATH, or its whole path", Kind.NOT_FOUND)
        return [*self.launcher(node), *words]


def check_name(name: str, option: str = "--name ") -> None:
    """Raises InvalidError for what is no name of a network."""
    if not _NAME.fullmatch(name):
        raise InvalidError(f"{option}{name!r}: write letters, digits, '-', '_' or '.', 40 at most")


class Claim:
    """A name, held until this process or the block of `with` ends; its descriptors outlive an exec."""

    def __init__(self, name: str, descriptor: int | None = None, folder: Path = FOLDER) -> None:
        """`descriptor` is that of a claim which this process took before it executed itself anew.

        Raises InvalidError when a network of that name runs, or the name is none.
        """
        self._folder = folder
        check_name(name)
        if descriptor is not None:
            self._file = os.fdopen(descriptor, "a+")
            os.set_inheritable(descriptor, False)
            return
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{name}.json"
        with alone(folder):
            self._file = path.open("a+")
            if not lock(self._file):
                entry = _read(path)
                pid = entry.pid if entry else "unknown: it is being built"
                raise InvalidError(
                    f"network {name} runs already (pid {pid}); "
                    f"end it: groupflow net down {name}; or choose another --name"
                )
            self._file.truncate(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        running_networks(self._folder)  # removes the file

    @property
    def descriptor(self) -> int:
        return self._file.fileno()

    def tell(self, entry: Entry) -> None:
        """Makes the network known to other processes."""
        self._file.truncate(0)
        json.dump(asdict(entry), self._file)
        self._file.flush()


def running_networks(folder: Path = FOLDER) -> list[Entry]:
    """All networks that are up, ordered by name; files of networks that ended are removed.

    Raises InvalidError.
    """
    if not folder.exists():
        return []
    found: list[Entry] = []
    with alone(folder):
        for path in sorted(folder.glob("*.json")):
            with path.open("a+") as file:
                if lock(file):
                    path.unlink()
                elif (entry := _read(path)) is not None:
                    found.append(entry)
    return found


def find(name: str | None, folder: Path = FOLDER) -> Entry:
    """The network of that name; without a name, the only one that runs. Raises InvalidError."""
    running = {entry.name: entry for entry in running_networks(folder)}
    if name is None and len(running) == 1:
        return next(iter(running.values()))
    if name in running:
        return running[name]
    if not running:
        raise InvalidError("no network runs; start one: groupflow net up FILE.yaml")
    listed = ", ".join(running)
    raise InvalidError(
        f"no network {name} runs, only {listed}" if name else f"several networks run; name one of {listed}"
    )


def _read(path: Path) -> Entry | None:
    """The entry in a file; None: the network is still being built."""
    try:
        return Entry(**json.loads(path.read_text()))
    except (ValueError, TypeError):
        return None
