"""The networks that run on this machine, by name: a file each, which the running network keeps locked."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, Self, TypeAlias

from groupflow.data import RUN_FOLDER
from groupflow.errors import InvalidError
from groupflow.lab.leftovers import alone, lock

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
