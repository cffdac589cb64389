"""The dispatchers of a tree, and their stored state, which is written before hosts are told.

| key, below `trees/NAME/` | value |
|---|---|
| `source` | `{"host": …, "root": …, "delay_ms": …, "waits": …}`, once there is a source |
| `clusters/CLUSTER` | the dispatcher as it was when it last sent a message |
| `hosts/HOST` | the key with which a host proves its name |
| `identity` | the tree's certificate and key |
| `process` | the process that serves the tree: the last that has begun |

A process that was replaced may still live, and only have stood still. So each write expects that `process` is
this one.
"""

import json
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from groupflow._native import ToHost, TreeDispatchers
from groupflow.agents.errors import TreeError
from groupflow.store.interface import Store, Transaction, Writes
from groupflow.tree.connection import Identity
from groupflow.tree.options import DispatchOptions


@dataclass(frozen=True)
class TreeSource:
    """The source of a tree as the store has it."""

    host: str
    root: str
    """the root's cluster"""
    delay_ms: float | None = None
    """the bound on the delay of its stream"""
    waits: bool = False
    """it waits for hosts that are away"""


class Forest:
    """The dispatchers of one tree. Made by `open`; runs none before `enter`.

    Only one of `begin`, `hear`, `lose`, `tick` and `save` may run at a time. The async ones raise StoreError,
    and TreeError once another process serves the tree.
    """

    def __init__(self, store: Store, options: DispatchOptions, clock: Callable[[], int]) -> None:
        self._store = store
        self._options = options
        self._clock = clock
        self._prefix = f"trees/{options.name}/"
        self._dispatchers: TreeDispatchers | None = None
        self.identity: Identity | None = None
        self._source: TreeSource | None = None
        self.process = ""
        """this process's id, until it begins again"""

    @classmethod
    async def open(cls, store: Store, options: DispatchOptions, clock: Callable[[], int]) -> Self:
        """The tree as stored, or empty. Raises StoreError, and ValueError for stored values that are bad."""
        forest = cls(store, options, clock)
        if not options.plain:
            key, made = forest._prefix + "identity", json.dumps(asdict(Identity.make()))
            is_first = await store.commit(Transaction({key: made}, {key: None}))
            forest.identity = Identity(**json.loads(made if is_first else await store.get(key) or ""))
        return forest

    async def enter(self, *, again: bool = False) -> None:
        """Makes this process the one that serves the tree, and goes on with what is stored. `again`: only if
        no other serves the tree by now, which raises TreeError."""
        process = secrets.token_hex(8)  # another one than before, as hosts have to come back
        writes: Writes = {self._prefix + "process": json.dumps(process)}
        await (self._write(writes) if again else self._store.commit(Transaction(writes)))
        self.process = process
        self._dispatchers = self._source = None
        stored = await self._store.get(self._prefix + "source")
        if stored is not None:
            self._source = TreeSource(**json.loads(stored))
            states = list((await self._store.items(self._prefix + "clusters/")).values())
            options = replace(self._options, delay_ms=self._source.delay_ms)
            policy = options.policy(waits=self._source.waits)
            self._dispatchers = TreeDispatchers.resume(
                policy, options.token, states, secrets.randbits(64), self._clock()
            )

    async def _write(self, writes: Writes) -> None:
        expect = {self._prefix + "process": json.dumps(self.process)}
        if not await self._store.commit(Transaction(writes, expect)):
            raise TreeError(
                f"another process serves the tree {self._options.name}; end one of them, or name another tree"
            )

    @property
    def source(self) -> str | None:
        """The source's host name, once there is a source."""
        return self._source and self._source.host

    @property
    def root(self) -> str | None:
        """The root's cluster, once there is a source."""
        return self._source and self._source.root

    @property
    def delay_ms(self) -> float | None:
        """The bound on the delay of the source's stream."""
        return self._source and self._source.delay_ms

    @property
    def has_ended(self) -> bool:
        return self._dispatchers is not None and self._dispatchers.has_ended

    @property
    def attached(self) -> int:
        """Hosts that have a parent."""
        return self._dispatchers.attached if self._dispatchers else 0

    def members(self) -> str:
        """The source's line: the hosts of the tree, and which of them lack bytes of the stream."""
        return self._dispatchers.members() if self._dispatchers else ""

    async def knows(self, host: str, key: str) -> bool:
        """Whether `key` is the host's key; the first key that a host shows becomes it."""
        where, shown = f"{self._prefix}hosts/{host}", json.dumps(key)
        if await self._store.commit(Transaction({where: shown}, {where: None})):
            return True
        known = await self._store.get(where) or ""
        return secrets.compare_digest(known.encode(), shown.encode())

    async def begin(
        self, join: dict[str, Any], delay_ms: float | None = None, *, waits: bool = False
    ) -> None:
        """Begins a tree with this source. Raises ValueError. `delay_ms`: the bound on the delay of its
        stream; None: that of the options. `waits`: the source waits for hosts that are away."""
        options = self._options if delay_ms is None else replace(self._options, delay_ms=delay_ms)
        made = TreeDispatchers(
            options.policy(waits=waits), options.token, json.dumps(join), secrets.randbits(64), self._clock()
        )
        source = TreeSource(join["peer"]["host"], made.root, options.delay_ms, waits)
        await self._write({self._prefix + "source": json.dumps(asdict(source))} | self._changed(made))
        self._dispatchers, self._source = made, source

    def hear(self, host: str, line: bytes) -> tuple[str, int, list[ToHost]]:
        """Handles a host's line to a cluster's dispatcher. Returns the cluster, how often the host has joined
        one, and the messages that follow. Raises ValueError naming what is wrong in the line."""
        return self._dispatchers.on_host(self._clock(), host, line) if self._dispatchers else ("", 0, [])

    def lose(self, cluster: str, host: str) -> list[ToHost]:
        """Handles the end of a host's connection."""
        return self._dispatchers.on_gone(self._clock(), cluster, host) if self._dispatchers else []

    def tick(self) -> list[ToHost]:
        """Handles the timers that are due."""
        is_due = self.pause() == 0
        return self._dispatchers.on_time(self._clock()) if self._dispatchers and is_due else []

    def pause(self) -> float | None:
        """Seconds until `tick` has something to do."""
        deadline = self._dispatchers.deadline() if self._dispatchers else None
        return None if deadline is None else max(0.0, (deadline - self._clock()) / 1e9)

    async def save(self) -> None:
        """Stores all changes. The end of the tree clears it from the store, except for its certificate."""
        here = self._dispatchers
        if here and here.has_ended:
            kept = (self._prefix + "identity", self._prefix + "process")
            keys = await self._store.items(self._prefix)
            await self._write({key: None for key in keys if not key.startswith(kept)})
            self._dispatchers = self._source = None
        elif here and (writes := self._changed(here)):
            await self._write(writes)

    def _changed(self, dispatchers: TreeDispatchers) -> dict[str, str | None]:
        changed = dispatchers.take_changed()
        return {f"{self._prefix}clusters/{cluster}": state for cluster, state in changed.items()}

    async def forget_hosts(self) -> None:
        """Frees the names of hosts that are nowhere: else the store would grow as long as hosts come."""
        prefix = self._prefix + "hosts/"
        there = {host["host"] for host in self.hosts()}
        stored = await self._store.items(prefix)
        gone = {key: None for key in stored if key.removeprefix(prefix) not in there}
        if gone:
            await self._write(gone)

    def hosts(self) -> list[dict[str, Any]]:
        """Every host with its address and parent."""
        return json.loads(self._dispatchers.hosts()) if self._dispatchers else []
