"""The process that runs each cluster's dispatcher, as a tree's processes agree through the store.

| key, below `trees/NAME/` | value |
|---|---|
| `run/source` | `{"host": …, "root": …, "delay_ms": …}`, once there is a source |
| `run/processes/ID` | a process: `{"address": …, "place": …, "lease": …, "attached": …, "beat": …}` |
| `run/owners/CLUSTER` | the process that runs the cluster's dispatcher |
| `run/mail/TO/NUMBER/FROM` | a message to a dispatcher of another process, until that process has taken it |
| `clusters/CLUSTER` | the dispatcher as it was when it last sent a message |
| `hosts/HOST` | the key with which a host proves its name |
| `identity` | the tree's certificate and key |

A process's beat goes up. When it stands still for the process's lease, and for the observer's, the process is
taken for dead, and another takes over its clusters. It may still live: all its writes expect that its
clusters are its own, and no host is told anything that is not stored.
"""

import json
import secrets
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from groupflow.errors import Error
from groupflow.store.interface import Store, Transaction, Writes


class SupersededError(Error):
    """Another process runs this one's clusters, or will: nothing was stored."""


@dataclass(frozen=True)
class TreeSource:
    """The source of a tree as the store has it."""

    host: str
    root: str
    """the root's cluster"""
    delay_ms: float | None = None
    """the bound on the delay of its stream"""

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Process:
    """A process as it describes itself in the store."""

    address: str
    """IP:PORT to which hosts connect; 0.0.0.0: the IP address at which they reach this process already"""
    place: str
    """identity of the listening socket, which no other living process has; empty: not known"""
    lease: float
    """seconds that it may be silent before it counts as dead, even for observers with a shorter lease"""
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
    """Identity of the socket that listens at IP:PORT: the running kernel, the network namespace, the address.
    Empty where the system does not tell them."""
    try:
        kernel = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        network = Path("/proc/self/ns/net").stat().st_ino
    except OSError:
        return ""
    return f"{kernel}/{network}/{address}"


class Shares:
    """One process's view of the shares. Its own writes appear in the view at once."""

    def __init__(self, store: Store, prefix: str, lease: float) -> None:
        """`lease`: seconds of silence after which another process counts as dead."""
        self._store = store
        self._prefix = prefix + "run/"
        self._lease = lease
        self._version: int | None = None
        self._told: dict[str, tuple[str, float]] = {}
        """last record of each process, and the time since when it is unchanged"""
        self._number = 0
        self._beaten = self._looked = 0.0
        self.me = ""
        self.own = Process("", "", lease, 0, 0)
        self.source: TreeSource | None = None
        self.processes: dict[str, Process] = {}
        self.owners: dict[str, str] = {}
        self.mail: dict[str, str] = {}
        """messages by key, in order"""

    def key(self, *parts: str) -> str:
        return self._prefix + "/".join(parts)

    async def enter(self, address: str) -> None:
        """Makes this process one of the tree's, under a new id. Raises StoreError."""
        self.me, self._version = secrets.token_hex(8), None
        self.own = Process(address, place_of(address), float(self._lease), 0, 0)
        await self._store.commit(Transaction({self.key("processes", self.me): self.own.to_json()}))
        self._beaten = time.monotonic()

    async def look(self) -> bool:
        """Reads the store. Whether anything may have changed. Raises StoreError, ValueError (bad values)."""
        version, now = await self._store.version(), time.monotonic()
        if now > self._looked + self._lease / 2:
            # After a long pause of this process, the silence of others means nothing: it was not looking.
            self._told = {process: (text, now) for process, (text, _) in self._told.items()}
        self._looked = now
        # The version tells of others' writes only; a dead process must be noticed without any write.
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
                self.source = TreeSource(**json.loads(value))
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
        """Time when a change of a process's record was last seen, in s, as time.monotonic."""
        return self._told[process][1] if process in self._told else 0.0

    @property
    def dead(self) -> set[str]:
        """Ids of processes that are silent for too long, or that had this process's place before."""
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
        """The processes that are not dead, by id; this one is among them."""
        dead = self.dead
        return {name: process for name, process in self.processes.items() if name not in dead}

    def orphans(self) -> dict[str, str]:
        """Clusters whose process is dead or gone, each with that process."""
        living = self.living
        return {cluster: owner for cluster, owner in self.owners.items() if owner not in living}

    def least(self) -> str:
        """The process that has the fewest clusters; this one rather than another that has as few."""
        counts = dict.fromkeys(self.living, 0) | {self.me: 0}
        for owner in self.owners.values():
            if owner in counts:
                counts[owner] += 1
        return min(counts, key=lambda name: (counts[name], name != self.me, name))

    def mail_key(self, sender: str, to: str) -> str:
        """Key of the next message: behind all that existed when its sender came to this process."""
        self._number += 1
        return self.key("mail", to, f"{self._number:020}", sender)

    def beat(self, attached: int) -> Writes:
        """The write that shows this process as alive; empty, if it was made just now."""
        now = time.monotonic()
        if attached == self.own.attached and now < self._beaten + self._lease / 4:
            return {}
        self._beaten = now
        said = replace(self.own, attached=attached, beat=self.own.beat + 1)
        return {self.key("processes", self.me): said.to_json()}

    def alive(self) -> Writes:
        """The stored value that shows that no other process took this one for dead."""
        return {self.key("processes", self.me): self.own.to_json()}

    async def write(self, writes: Writes, expect: Writes) -> None:
        """Writes, if this process counts as alive and `expect` holds. Raises SupersededError, StoreError."""
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
