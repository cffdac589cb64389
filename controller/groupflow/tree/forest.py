"""The dispatchers that this process runs, and their stored state, which is written before hosts are told.

Several processes may share a store (groupflow.tree.shares): each runs the dispatchers of some clusters.
"""

import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self, TypeAlias

from groupflow._native import TreeDispatchers
from groupflow.store.interface import Store, StoreError, Transaction
from groupflow.tree.identity import Identity
from groupflow.tree.options import DispatchOptions
from groupflow.tree.shares import Shares, SupersededError, TreeSource

Told: TypeAlias = list[tuple[str, str, str]]
"""cluster, host, message (JSON)"""

_TOGETHER, _ALONE = 0.02, 0.25
"""seconds between two looks at the store: with other processes, and without"""


class Forest:
    """The dispatchers of one tree in this process. Made by `open`; runs none before `enter`.

    Only one of `look`, `begin`, `hear`, `lose`, `tick` and `save` may run at a time. The async ones raise
    StoreError and SupersededError, after which only `enter` may be called.
    """

    def __init__(self, store: Store, options: DispatchOptions, clock: Callable[[], int]) -> None:
        self._store = store
        self._options = options
        self._clock = clock
        self._prefix = f"trees/{options.name}/"
        self._shares = Shares(store, self._prefix, options.lease)
        self._writes: dict[str, str | None] = {}
        self._dispatchers: TreeDispatchers | None = None
        self.identity: Identity | None = None
        self._source: TreeSource | None = None
        self.over = False
        """The former tree has ended. To be reset by the caller that handles the end."""

    @classmethod
    async def open(cls, store: Store, options: DispatchOptions, clock: Callable[[], int]) -> Self:
        """The tree as stored, or empty. Raises StoreError, and ValueError for stored values that are bad."""
        forest = cls(store, options, clock)
        if not options.plain:
            forest.identity = await forest._identify()
        await forest._shares.look()
        forest._follow()
        return forest

    async def _identify(self) -> Identity:
        key, made = self._prefix + "identity", Identity.make()
        if await self._store.commit(Transaction({key: made.to_json()}, {key: None})):
            return made
        stored = await self._store.get(key)
        return Identity.from_json(stored or "")

    async def enter(self, address: str) -> Told:
        """Makes this process one of those that share the tree; `address`: IP:PORT for hosts. It takes over
        the clusters that no process runs."""
        self._writes.clear()
        self._dispatchers = self._source = None
        await self._shares.enter(address)
        return await self.look()

    async def leave(self) -> None:
        """Leaves this process's dispatchers to the other processes, if there are any."""
        shares = self._shares
        mine = [cluster for cluster, owner in shares.owners.items() if owner == shares.me]
        writes: dict[str, str | None] = {shares.key("processes", shares.me): None}
        shares.processes.pop(shares.me, None)
        if shares.living:
            heir = min(shares.living)
            writes |= {shares.key("owners", cluster): heir for cluster in mine}
        expect = {shares.key("owners", cluster): shares.me for cluster in mine}
        with suppress(StoreError):  # then they notice its silence
            await self._store.commit(Transaction(writes, expect))

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
    def process(self) -> str:
        """This process's id, until it begins again."""
        return self._shares.me

    @property
    def pause_between_looks(self) -> float:
        """Seconds between two looks at the store."""
        return _TOGETHER if len(self._shares.processes) > 1 else min(_ALONE, self._options.lease / 4)

    @property
    def addresses(self) -> list[str]:
        """Addresses (IP:PORT) of all processes, for hosts."""
        return sorted({process.address for process in self._shares.living.values()})

    @property
    def has_root(self) -> bool:
        """Whether this process runs the root's dispatcher."""
        return self.root is not None and self.runs(self.root)

    @property
    def has_ended(self) -> bool:
        return self._dispatchers is not None and self._dispatchers.has_ended

    @property
    def attached(self) -> int:
        """Hosts that have a parent, as all processes reported last."""
        others = [said.attached for name, said in self._shares.processes.items() if name != self._shares.me]
        return max(0, sum(others, self._attached_here()) - 1)

    def _attached_here(self) -> int:
        return self._dispatchers.attached if self._dispatchers else 0

    def runs(self, cluster: str) -> bool:
        """Whether this process runs the cluster's dispatcher."""
        here, shares = self._dispatchers, self._shares
        return here is not None and shares.owners.get(cluster) == shares.me and here.has(cluster)

    def elsewhere(self, cluster: str) -> tuple[str, str] | None:
        """Id and address of the process that runs the cluster's dispatcher, if that is another one."""
        owner = self._shares.owners.get(cluster, "")
        process = self._shares.processes.get(owner)
        return (owner, process.address) if process and owner != self._shares.me else None

    def heard_of(self, process: str) -> float:
        """Time of the last sign of life of a process in s, as time.monotonic."""
        return self._shares.heard_of(process)

    def processes_at(self, addresses: list[str]) -> frozenset[str]:
        """Ids of the processes at these addresses, as hosts know them."""
        places = {(address, port) for address, _, port in (text.rpartition(":") for text in addresses)}
        ports = {port for _, port in places}
        at = {name: process.address.rpartition(":") for name, process in self._shares.processes.items()}
        return frozenset(
            name
            for name, (address, _, port) in at.items()
            if (address, port) in places or (address == "0.0.0.0" and port in ports)
        )

    async def knows(self, host: str, key: str) -> bool:
        """Whether `key` is the host's key; the first key that a host shows becomes it."""
        where, shown = f"{self._prefix}hosts/{host}", json.dumps(key)
        if await self._store.commit(Transaction({where: shown}, {where: None})):
            return True
        known = await self._store.get(where) or ""
        return secrets.compare_digest(known.encode(), shown.encode())

    async def begin(self, join: dict[str, Any], delay_ms: float | None = None) -> None:
        """Begins a tree with this source, unless another process was faster. Raises ValueError. `delay_ms`:
        the bound on the delay of its stream; None: that of the options."""
        options = self._options if delay_ms is None else replace(self._options, delay_ms=delay_ms)
        policy, token = options.policy(), options.token
        made = TreeDispatchers(policy, token, json.dumps(join), secrets.randbits(64), self._clock())
        shares = self._shares
        source = TreeSource(join["peer"]["host"], made.root, options.delay_ms)
        old = (self._prefix + "clusters/", shares.key("owners/"), shares.key("mail/"))
        stored = await self._store.items(self._prefix)
        writes: dict[str, str | None] = {key: None for key in stored if key.startswith(old)}
        writes |= {shares.key("source"): source.to_json(), shares.key("owners", made.root): shares.me}
        for cluster, state in made.take_changed().items():
            writes[f"{self._prefix}clusters/{cluster}"] = state
        if await self._store.commit(Transaction(writes, {shares.key("source"): None})):
            shares.source, shares.owners = source, {made.root: shares.me}
            shares.mail.clear()
            self._dispatchers, self._source = made, source

    async def look(self) -> Told:
        """Takes over the changes of other processes. Returns the messages that follow from them."""
        # Changes of this process are saved first: the stored state is older, and would repeat or undo them.
        told = await self.save() if self._shares.me else []
        if self.has_ended:  # else the end, once stored, looks like another process's, and no process clears
            await self.clear()
        if not await self._shares.look():
            return told
        self._follow()
        if self._dispatchers is None:
            return told
        await self._adopt(self._dispatchers)
        return told + self._take_mail(self._dispatchers)

    def _follow(self) -> None:
        """Follows another process that began a tree, or ended it."""
        source = self._shares.source
        if (source and source.root) == self.root:
            return
        self.over = self.over or self.root is not None
        self._source, self._dispatchers = source, None
        if source:
            options = replace(self._options, delay_ms=source.delay_ms)
            seed = secrets.randbits(64)
            self._dispatchers = TreeDispatchers.part(source.root, options.policy(), options.token, seed)

    async def _adopt(self, here: TreeDispatchers) -> None:
        """Takes over clusters that other processes gave to this one, and clusters of dead processes."""
        shares = self._shares
        if not shares.me:
            return
        orphans, dead = shares.orphans(), shares.dead
        if orphans or dead:
            writes = {shares.key("owners", cluster): shares.me for cluster in orphans}
            expect = {shares.key("owners", cluster): owner for cluster, owner in orphans.items()}
            expect |= {shares.key("processes", name): shares.processes[name].to_json() for name in dead}
            gone = dict.fromkeys((shares.key("processes", name) for name in dead), None)
            # If another process is faster, the next look will show that.
            if await self._store.commit(Transaction(writes | gone, expect | dict(shares.alive()))):
                shares.owners |= dict.fromkeys(orphans, shares.me)
                for name in dead:
                    del shares.processes[name]
        present = set(here.clusters)
        if any(shares.owners.get(cluster) != shares.me for cluster in present):
            raise SupersededError
        for cluster, owner in shares.owners.items():
            if owner == shares.me and cluster not in present:
                stored = await self._store.get(f"{self._prefix}clusters/{cluster}")
                if stored is not None:  # else the tree has ended meanwhile
                    here.adopt(self._clock(), stored)

    def _take_mail(self, here: TreeDispatchers) -> Told:
        told: Told = []
        for key, message in list(self._shares.mail.items()):
            _, to, _, sender = key.split("/")
            if self.runs(to):
                told += here.on_mail(self._clock(), sender, to, message)
            elif to in self._shares.owners:
                continue
            elif self.runs(sender):
                told += here.on_returned(self._clock(), sender, to, message)
            elif sender in self._shares.owners or not self.has_root:
                continue
            del self._shares.mail[key]
            self._writes[self._shares.key(key)] = None
        return told

    def hear(self, cluster: str, host: str, message: str) -> Told:
        """Handles a host's message. Raises ValueError naming what is wrong in it."""
        return self._dispatchers.on_host(self._clock(), cluster, host, message) if self._dispatchers else []

    def lose(self, cluster: str, host: str) -> Told:
        """Handles the end of a host's connection."""
        return self._dispatchers.on_gone(self._clock(), cluster, host) if self._dispatchers else []

    def tick(self) -> Told:
        """Handles the timers that are due."""
        deadline = self._dispatchers.deadline() if self._dispatchers else None
        if self._dispatchers is None or deadline is None or deadline > self._clock():
            return []
        return self._dispatchers.on_time(self._clock())

    def pause(self) -> float | None:
        """Seconds until `tick` has something to do."""
        deadline = self._dispatchers.deadline() if self._dispatchers else None
        return None if deadline is None else max(0.0, (deadline - self._clock()) / 1e9)

    async def save(self) -> Told:
        """Stores all changes. Returns the messages that follow from mail to clusters that no longer exist."""
        told, expect, given = self._save_dispatchers() if self._dispatchers else ([], {}, [])
        writes, self._writes = self._writes, {}
        writes |= self._shares.beat(self._attached_here())
        if writes:
            await self._shares.write(writes, expect)
        for cluster in given:
            if self._dispatchers:
                self._dispatchers.let_go_of(cluster)
        return told

    def _save_dispatchers(self) -> tuple[Told, dict[str, str | None], list[str]]:
        """Messages, stored values that the writes expect, and clusters that other processes will run."""
        here, shares = self._dispatchers, self._shares
        assert here
        told = self._send_mail(here)
        expect: dict[str, str | None] = {}
        given: list[str] = []
        for cluster, state in here.take_changed().items():
            where, owner = shares.key("owners", cluster), shares.owners.get(cluster)
            expect[where] = None if owner is None else shares.me
            if owner is None and state is not None:
                self._writes[where] = shares.owners[cluster] = shares.least()
                given += [cluster] if shares.owners[cluster] != shares.me else []
            elif state is None:
                self._writes[where] = None
            if state is None and cluster == self.root:
                self._writes[shares.key("source")] = None
            self._writes[f"{self._prefix}clusters/{cluster}"] = state
        return told, expect, given

    def _send_mail(self, here: TreeDispatchers) -> Told:
        told: Told = []
        while mail := here.take_mail():
            for sender, to, message in mail:
                if to in self._shares.owners and not self.runs(to):
                    self._writes[self._shares.mail_key(sender, to)] = message
                else:
                    told += here.on_returned(self._clock(), sender, to, message)
        return told

    async def clear(self) -> None:
        """Clears the store after the end of the tree, except for its certificate and its processes."""
        keys = await self._store.items(self._prefix)
        kept = (self._prefix + "identity", self._shares.key("processes"))
        gone = {key: None for key in keys if not key.startswith(kept)}
        # Another process may have begun the next one.
        await self._store.commit(Transaction(gone, {self._shares.key("source"): None}))
        self._writes.clear()
        self.over = True
        self._shares.source = self._dispatchers = self._source = None
        self._shares.owners.clear()
        self._shares.mail.clear()

    async def forget_hosts(self) -> None:
        """Frees the names of hosts that are nowhere: else the store would grow as long as hosts come."""
        prefix = self._prefix + "hosts/"
        there = {host["host"] for host in await self.hosts()}
        stored = await self._store.items(prefix)
        gone = {key: None for key in stored if key.removeprefix(prefix) not in there}
        if gone:
            await self._store.commit(Transaction(dict(gone), dict(self._shares.alive())))

    async def hosts(self) -> list[dict[str, Any]]:
        """Every host with its address and parent, of all processes."""
        stored = await self._store.items(self._prefix + "clusters/")
        return json.loads(TreeDispatchers.hosts(list(stored.values())))
