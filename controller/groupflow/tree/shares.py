"""Which process runs which cluster's dispatcher, as a tree's processes tell each other through the store.

| key, below `trees/NAME/` | value |
|---|---|
| `run/source` | `{"host": …, "root": …}`, once there is a source |
| `run/processes/ID` | a process: `{"address": …, "place": …, "lease": …, "attached": …, "beat": …}` |
| `run/owners/CLUSTER` | the process that runs its dispatcher |
| `run/mail/TO/NUMBER/FROM` | what a dispatcher tells one of another process, until that has taken it |
| `clusters/CLUSTER` | the dispatcher as it was when it last told anybody anything |
| `hosts/HOST` | what a host proves its name by |
| `identity` | the tree's certificate and key |

A process's beat goes up. When it stands still for its lease, and for that of who looks, the process is taken
for dead, and another takes over its clusters. It may live: whatever it wants to store expects that its
clusters are its own, and nobody is told what is not stored.
"""

import json
import secrets
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from groupflow.store.interface import Store, Transaction, Writes


class SupersededError(Exception):
    """Another process runs what this one did, or will: nothing was stored."""


@dataclass(frozen=True)
class Process:
    """As it says of itself."""

    address: str
    """where hosts connect to, IP:PORT; 0.0.0.0: the address that they are connected to already"""
    place: str
    """no other can listen there as long as it lives; empty: that is not known"""
    lease: float
    """seconds: it is not dead before, even for who waits less long"""
    attached: int
    """hosts of its clusters that have a parent, and the source if that is one of them"""
    beat: int

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> "Process":
        form: dict[str, Any] = json.loads(text)
        place, lease = str(form.get("place", "")), float(form.get("lease", 1.0))
        return Process(str(form["address"]), place, lease, int(form["attached"]), int(form["beat"]))


def place_of(address: str) -> str:
    """What tells who listens at IP:PORT from all others: the kernel that runs now, the network namespace and
    the address. Empty where the system does not tell."""
    try:
        kernel = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        network = Path("/proc/self/ns/net").stat().st_ino
    except OSError:
        return ""
    return f"{kernel}/{network}/{address}"


class Shares:
    """One process's view. What is written here is seen in the view at once, by `wrote`."""

    def __init__(self, store: Store, prefix: str, lease: float) -> None:
        """`lease`: seconds."""
        self._store = store
        self._prefix = prefix + "run/"
        self._lease = lease
        self._version: int | None = None
        self._told: dict[str, tuple[str, float]] = {}
        """what processes said last, and since when"""
        self._number = 0
        self._beaten = self._looked = 0.0
        self.me = ""
        self.own = Process("", "", lease, 0, 0)
        self.source: dict[str, str] | None = None
        self.processes: dict[str, Process] = {}
        self.owners: dict[str, str] = {}
        self.mail: dict[str, str] = {}
        """by key, in order"""

    def key(self, *parts: str) -> str:
        return self._prefix + "/".join(parts)

    async def enter(self, address: str) -> None:
        """Is one of the processes from now on, a new one. Raises StoreError."""
        self.me, self._version = secrets.token_hex(8), None
        self.own = Process(address, place_of(address), float(self._lease), 0, 0)
        await self._store.commit(Transaction({self.key("processes", self.me): self.own.to_json()}))
        self._beaten = time.monotonic()

    async def look(self) -> bool:
        """Whether anything may have changed. Raises StoreError, and ValueError for what is no tree."""
        version, now = await self._store.version(), time.monotonic()
        if now > self._looked + self._lease / 2:
            # Who did not look heard nobody: that says nothing of the others.
            self._told = {process: (text, now) for process, (text, _) in self._told.items()}
        self._looked = now
        # What this process wrote itself does not change the version for it: whose share it may take over now.
        if version != self._version or self.dead:
            self._version = version
            stored = await self._store.items(self._prefix)
            self.source, self.processes, self.owners, self.mail = None, {}, {}, {}
            for key, value in stored.items():
                self._read(key.removeprefix(self._prefix), value)
            told = {process: said.to_json() for process, said in self.processes.items()}
            before = self._told
            self._told = {
                process: before[process] if before.get(process, ("",))[0] == text else (text, now)
                for process, text in told.items()
            }
            return True
        return False

    def _read(self, key: str, value: str) -> None:
        kind, _, name = key.partition("/")
        match kind:
            case "source":
                self.source = json.loads(value)
            case "processes":
                self.processes[name] = Process.from_json(value)
            case "owners":
                self.owners[name] = value
            case "mail":
                self.mail[key] = value
                self._number = max(self._number, int(name.split("/")[1]))
            case _:
                raise ValueError(f"stored: {key}: this version knows no such key")

    def heard_of(self, process: str) -> float:
        """When it was seen last that it had said something; seconds, as time.monotonic."""
        return self._told[process][1] if process in self._told else 0.0

    @property
    def dead(self) -> set[str]:
        """Processes of which nothing is heard any more, or that were where this one is now."""
        now = time.monotonic()
        return {
            process
            for process, said in self.processes.items()
            if process != self.me
            and (self._told[process][1] + max(said.lease, self._lease) < now or self._is_in_place_of(said))
        }

    def _is_in_place_of(self, said: Process) -> bool:
        return said.place != "" and said.place == self.own.place

    @property
    def living(self) -> dict[str, Process]:
        """Of all processes; this one is one of them."""
        dead = self.dead
        return {name: process for name, process in self.processes.items() if name not in dead}

    def orphans(self) -> dict[str, str]:
        """Clusters whose process is dead or no more, with that process."""
        living = self.living
        return {cluster: owner for cluster, owner in self.owners.items() if owner not in living}

    def least(self) -> str:
        """The process that has fewest clusters; this one rather than another that has as few."""
        counts = dict.fromkeys(self.living, 0) | {self.me: 0}
        for owner in self.owners.values():
            if owner in counts:
                counts[owner] += 1
        return min(counts, key=lambda name: (counts[name], name != self.me, name))

    def mail_key(self, sender: str, to: str) -> str:
        """Of the next: behind all that there was when the sender's dispatcher came here."""
        self._number += 1
        return self.key("mail", to, f"{self._number:020}", sender)

    def beat(self, attached: int) -> Writes:
        """What is to be written to be taken for alive; nothing, if that was done just now."""
        now = time.monotonic()
        if attached == self.own.attached and now < self._beaten + self._lease / 4:
            return {}
        self._beaten = now
        said = replace(self.own, attached=attached, beat=self.own.beat + 1)
        return {self.key("processes", self.me): said.to_json()}

    def alive(self) -> Writes:
        """What is expected to be stored by who was not taken for dead."""
        return {self.key("processes", self.me): self.own.to_json()}

    async def write(self, writes: Writes, expect: Writes) -> None:
        """Raises SupersededError, StoreError."""
        if not await self._store.commit(Transaction(writes, {**expect, **self.alive()})):
            raise SupersededError
        for key, value in writes.items():
            kind, _, name = key.removeprefix(self._prefix).partition("/")
            match kind, value:
                case "owners", None:
                    self.owners.pop(name, None)
                case "owners", str():
                    self.owners[name] = value
                case "processes", None:
                    self.processes.pop(name, None)
                case "source", None:
                    self.source = None
                case "processes", str():
                    self.processes[name] = Process.from_json(value)
                    self._told[name] = value, time.monotonic()
                    self.own = self.processes[name] if name == self.me else self.own
                case _:
                    pass
