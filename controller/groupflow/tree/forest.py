"""The dispatchers and what is stored of them: what hosts are told is in the store before."""

import json
import secrets
from collections.abc import Callable
from typing import Any, Self, TypeAlias

from groupflow._native import TreeDispatchers
from groupflow.store.interface import Store, Transaction
from groupflow.tree.identity import Identity
from groupflow.tree.options import DispatchOptions

Told: TypeAlias = list[tuple[str, str, str]]
"""cluster, host, message (JSON)"""


class Forest:
    """One tree's dispatchers. Made by `open`."""

    def __init__(self, store: Store, options: DispatchOptions, clock: Callable[[], int]) -> None:
        self._store = store
        self._options = options
        self._clock = clock
        self._prefix = f"trees/{options.name}/"
        self._writes: dict[str, str | None] = {}
        self._keys: dict[str, str] = {}
        self._dispatchers: TreeDispatchers | None = None
        self.identity: Identity | None = None
        self.source: str | None = None
        """its host, once it is there"""

    @classmethod
    async def open(cls, store: Store, options: DispatchOptions, clock: Callable[[], int]) -> Self:
        """As it was stored, or empty. Raises StoreError, and ValueError when what is stored is not a tree."""
        forest = cls(store, options, clock)
        stored = await store.items(forest._prefix)
        identity = stored.get(forest._prefix + "identity")
        if not options.plain:
            forest.identity = Identity.from_json(identity) if identity else Identity.make()
            forest._writes[forest._prefix + "identity"] = forest.identity.to_json()
        hosts = forest._prefix + "hosts/"
        forest._keys = {
            key.removeprefix(hosts): json.loads(value)
            for key, value in stored.items()
            if key.startswith(hosts)
        }
        clusters = [value for key, value in stored.items() if key.startswith(forest._prefix + "clusters/")]
        if clusters:
            seed = secrets.randbits(64)
            forest._dispatchers = TreeDispatchers.resume(
                clusters, options.policy(), options.token, seed, clock()
            )
            forest.source = json.loads(stored[forest._prefix + "source"])
        await forest.save()
        return forest

    @property
    def root(self) -> str | None:
        """The root's cluster, once there is a source."""
        return self._dispatchers.root if self._dispatchers else None

    @property
    def has_ended(self) -> bool:
        return self._dispatchers is not None and self._dispatchers.has_ended

    @property
    def attached(self) -> int:
        """Hosts that have a parent."""
        return self._dispatchers.attached if self._dispatchers else 0

    def knows(self, host: str, key: str) -> bool:
        """Whether that is the host's key; the first that it shows is."""
        known = self._keys.get(host)
        if known is None:
            known = self._keys[host] = key
            self._writes[f"{self._prefix}hosts/{host}"] = json.dumps(key)
        return secrets.compare_digest(known.encode(), key.encode())

    def begin(self, join: dict[str, Any]) -> None:
        """The source is there. Raises ValueError that names what makes no sense."""
        seed = secrets.randbits(64)
        self._dispatchers = TreeDispatchers(
            self._options.policy(), self._options.token, json.dumps(join), seed, self._clock()
        )
        self.source = join["peer"]["host"]
        self._writes[self._prefix + "source"] = json.dumps(self.source)

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

    async def save(self) -> None:
        """Raises StoreError."""
        if self._dispatchers:
            for cluster, state in self._dispatchers.take_changed().items():
                self._writes[f"{self._prefix}clusters/{cluster}"] = state
        writes, self._writes = self._writes, {}
        if writes:
            await self._store.commit(Transaction(writes))

    async def clear(self) -> None:
        """The tree is over: nothing is kept of it but its certificate."""
        keys = await self._store.items(self._prefix)
        gone = {key: None for key in keys if not key.endswith("/identity")}
        await self._store.commit(Transaction(gone))
        self._keys.clear()
        self._writes.clear()
        self._dispatchers = self.source = None

    def hosts(self) -> list[dict[str, Any]]:
        """Who is where, and below whom."""
        return json.loads(self._dispatchers.hosts()) if self._dispatchers else []
