"""The dispatchers that this process runs, and what is stored of them before hosts are told anything.

Several processes may share a store (groupflow.tree.shares): each runs the dispatchers of some clusters.
"""

import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self, TypeAlias

from groupflow._native import TreeDispatchers
from groupflow.store.interface import Store, StoreError, Transaction
from groupflow.tree.identity import Identity
from groupflow.tree.options import DispatchOptions
from groupflow.tree.shares import Shares, SupersededError

Told: TypeAlias = list[tuple[str, str, str]]
"""cluster, host, message (JSON)"""

_TOGETHER, _ALONE = 0.02, 0.25
"""seconds between two looks at what other processes have done, and at whether there are any"""


class Forest:
    """Those of one tree. Made by `open`; runs none before `enter`.

    Of `look`, `begin`, `hear`, `lose`, `tick` and `save` one at a time. All but the sync ones raise
    SupersededError, after which `enter` is the only thing to do, and StoreError.
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
        self.source: str | None = None
        """its host, once it is there"""
        self.root: str | None = None
        """the root's cluster, once there is a source"""
        self.over = False
        """The tree that there was has ended. To be reset by who deals with it."""

    @classmethod
    async def open(cls, store: Store, options: DispatchOptions, clock: Callable[[], int]) -> Self:
        """As it was stored, or empty. Raises StoreError, and ValueError when what is stored is not a tree."""
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
        """Is one of the processes that share the tree from now on, where hosts connect to IP:PORT; takes over
        what nobody runs."""
        self._writes.clear()
        self._dispatchers = self.source = self.root = None
        await self._shares.enter(address)
        return await self.look()

    async def leave(self) -> None:
        """Others, if there are any, run what this one did."""
        shares = self._shares
        mine = [cluster for cluster, owner in shares.owners.items() if owner == shares.me]
        writes: dict[str, str | None] = {shares.key("processes", shares.me): None}
        shares.processes.pop(shares.me, None)
        if shares.living:
            heir = min(shares.living)
            writes |= {shares.key("owners", cluster): heir for cluster in mine}
        expect = {shares.key("owners", cluster): shares.me for cluster in mine}
        with suppress(StoreError):  # then they notice that it is gone
            await self._store.commit(Transaction(writes, expect))

    @property
    def process(self) -> str:
        """This one's name, until it begins again."""
        return self._shares.me

    @property
    def pause_between_looks(self) -> float:
        """Seconds."""
        return _TOGETHER if len(self._shares.processes) > 1 else min(_ALONE, self._options.lease / 4)

    @property
    def addresses(self) -> list[str]:
        """Where hosts connect to, of all processes."""
        return sorted({process.address for process in self._shares.living.values()})

    @property
    def has_root(self) -> bool:
        """Whether the root's dispatcher is here."""
        return self.root is not None and self.runs(self.root)

    @property
    def has_ended(self) -> bool:
        return self._dispatchers is not None and self._dispatchers.has_ended

    @property
    def attached(self) -> int:
        """Hosts that have a parent, of all processes, as they said last."""
        others = [said.attached for name, said in self._shares.processes.items() if name != self._shares.me]
        return max(0, sum(others, self._attached_here()) - 1)

    def _attached_here(self) -> int:
        return self._dispatchers.attached if self._dispatchers else 0

    def runs(self, cluster: str) -> bool:
        """Whether its dispatcher is here."""
        here, shares = self._dispatchers, self._shares
        return here is not None and shares.owners.get(cluster) == shares.me and here.has(cluster)

    def elsewhere(self, cluster: str) -> tuple[str, str] | None:
        """The process that runs its dispatcher, if that is another one, and its address."""
        owner = self._shares.owners.get(cluster, "")
        process = self._shares.processes.get(owner)
        return (owner, process.address) if process and owner != self._shares.me else None

    def heard_of(self, process: str) -> float:
        """When it was seen last that it lives; seconds, as time.monotonic."""
        return self._shares.heard_of(process)

    def processes_at(self, addresses: list[str]) -> frozenset[str]:
        """Which processes are at one of those, as hosts see it, by name."""
        places = {(address, port) for address, _, port in (text.rpartition(":") for text in addresses)}
        ports = {port for _, port in places}
        at = {name: process.address.rpartition(":") for name, process in self._shares.processes.items()}
        return frozenset(
            name
            for name, (address, _, port) in at.items()
            if (address, port) in places or (address == "0.0.0.0" and port in ports)
        )

    async def knows(self, host: str, key: str) -> bool:
        """Whether that is the host's key; the first that it shows is."""
        where, shown = f"{self._prefix}hosts/{host}", json.dumps(key)
        if await self._store.commit(Transaction({where: shown}, {where: None})):
            return True
        known = await self._store.get(where) or ""
        return secrets.compare_digest(known.encode(), shown.encode())

    async def begin(self, join: dict[str, Any]) -> None:
        """The source is there, unless another was faster. Raises ValueError for what makes no sense."""
        policy, token = self._options.policy(), self._options.token
        made = TreeDispatchers(policy, token, json.dumps(join), secrets.randbits(64), self._clock())
        shares, source = self._shares, {"host": join["peer"]["host"], "root": made.root}
        old = (self._prefix + "clusters/", shares.key("owners/"), shares.key("mail/"))
        stored = await self._store.items(self._prefix)
        writes: dict[str, str | None] = {key: None for key in stored if key.startswith(old)}
        writes |= {shares.key("source"): json.dumps(source), shares.key("owners", made.root): shares.me}
        for cluster, state in made.take_changed().items():
            writes[f"{self._prefix}clusters/{cluster}"] = state
        if await self._store.commit(Transaction(writes, {shares.key("source"): None})):
            shares.source, shares.owners = source, {made.root: shares.me}
            shares.mail.clear()
            self._dispatchers, self.source, self.root = made, source["host"], source["root"]

    async def look(self) -> Told:
        """What other processes have done, and what comes of it."""
        # What is stored is older than what is not: it would be done twice, or undone.
        told = await self.save() if self._shares.me else []
        if not await self._shares.look():
            return told
        self._follow()
        if self._dispatchers is None:
            return told
        await self._adopt(self._dispatchers)
        return told + self._take_mail(self._dispatchers)

    def _follow(self) -> None:
        """Another process may have had the source, or its end."""
        source = self._shares.source or {}
        if source.get("root") == self.root:
            return
        self.over = self.over or self.root is not None
        self.source, self.root, self._dispatchers = source.get("host"), source.get("root"), None
        if self.root:
            policy, token = self._options.policy(), self._options.token
            self._dispatchers = TreeDispatchers.part(self.root, policy, token, secrets.randbits(64))

    async def _adopt(self, here: TreeDispatchers) -> None:
        """Takes what other processes gave to this one, and what those had that are dead."""
        shares = self._shares
        if not shares.me:
            return
        orphans, dead = shares.orphans(), shares.dead
        if orphans or dead:
            writes = {shares.key("owners", cluster): shares.me for cluster in orphans}
            expect = {shares.key("owners", cluster): owner for cluster, owner in orphans.items()}
            expect |= {shares.key("processes", name): shares.processes[name].to_json() for name in dead}
            gone = dict.fromkeys((shares.key("processes", name) for name in dead), None)
            # Should another one be faster, that is seen when it is looked at again.
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
        """Raises ValueError that names what makes no sense."""
        return self._dispatchers.on_host(self._clock(), cluster, host, message) if self._dispatchers else []

    def lose(self, cluster: str, host: str) -> Told:
        """A host's connection is gone."""
        return self._dispatchers.on_gone(self._clock(), cluster, host) if self._dispatchers else []

    def tick(self) -> Told:
        """What time brings."""
        deadline = self._dispatchers.deadline() if self._dispatchers else None
        if self._dispatchers is None or deadline is None or deadline > self._clock():
            return []
        return self._dispatchers.on_time(self._clock())

    def pause(self) -> float | None:
        """Seconds until `tick` has something to do."""
        deadline = self._dispatchers.deadline() if self._dispatchers else None
        return None if deadline is None else max(0.0, (deadline - self._clock()) / 1e9)

    async def save(self) -> Told:
        """What comes of mail that was for clusters that are no more."""
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
        """What is told, what must be so for the rest to be written, and clusters that others will run."""
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
        """The tree is over: nothing is kept of it but its certificate, and who its processes are."""
        keys = await self._store.items(self._prefix)
        kept = (self._prefix + "identity", self._shares.key("processes"))
        gone = {key: None for key in keys if not key.startswith(kept)}
        # Another process may have begun the next one.
        await self._store.commit(Transaction(gone, {self._shares.key("source"): None}))
        self._writes.clear()
        self.over = True
        self._shares.source = self._dispatchers = self.source = self.root = None
        self._shares.owners.clear()
        self._shares.mail.clear()

    async def forget_hosts(self) -> None:
        """Names of hosts that are nowhere are free again: else the store would grow as long as hosts come."""
        prefix = self._prefix + "hosts/"
        there = {host["host"] for host in await self.hosts()}
        stored = await self._store.items(prefix)
        gone = {key: None for key in stored if key.removeprefix(prefix) not in there}
        if gone:
            await self._store.commit(Transaction(dict(gone), dict(self._shares.alive())))

    async def hosts(self) -> list[dict[str, Any]]:
        """Who is where, and below whom, of all processes."""
        stored = await self._store.items(self._prefix + "clusters/")
        return json.loads(TreeDispatchers.hosts(list(stored.values())))
