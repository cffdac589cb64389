"""Receiver-side tuning: the clients of a server that gathers, and the policy that tunes them.

The server measures and obeys; it may be in this process, or give its measurements over the REST API, which
api/gather.py has.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter

from groupflow.agents.events import Event
from groupflow.agents.gather.service import Message
from groupflow.control.events import Events
from groupflow.control.gather import clients
from groupflow.control.gather.model import Limits
from groupflow.control.gather.policies import Policies
from groupflow.control.gather.tuner import Tuner
from groupflow.control.sessions.model import Codec
from groupflow.errors import Error, InvalidError, Kind
from groupflow.model.client import DEFAULT_POLICY, Client, GatherSettings
from groupflow.store.interface import Store, StoreError, Transaction
from groupflow.units import format_rate

AWAY_SECONDS = 3.0
"""a server that has given no measurements for so long is away"""

ServerState: TypeAlias = Literal["up", "away"]


SETTINGS = Codec("gather/settings", TypeAdapter(GatherSettings))
CLIENTS = Codec("gather/clients", TypeAdapter(clients.Registered))


class Gathering:
    """The settings and clients, each change in the store before it takes effect in the next round."""

    def __init__(
        self,
        store: Store,
        events: Events,
        policies: Policies,
        *,
        listed: clients.ClientList | None = None,
        policy: str = DEFAULT_POLICY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`listed`: clients to begin with, instead of those of the store (`restore`)."""
        listed = listed or clients.ClientList()
        self.policies = policies
        self.settings = GatherSettings(
            policy=policy,
            link=listed.link,
            buffer=listed.limits.buffer,
            connections=listed.limits.connections,
        )
        self.tuner = Tuner(listed, policies[policy])
        self._store = store
        self._events = events
        self._clock = clock
        self._heard = float("-inf")
        self._server = 0
        self._lock = asyncio.Lock()

    @property
    def server(self) -> ServerState:
        return "up" if self._clock() - self._heard < AWAY_SECONDS else "away"

    async def restore(self) -> None:
        """Takes over the settings and clients of an earlier controller. Raises StoreError."""
        for key, text in (await self._store.items(CLIENTS.key(""))).items():
            self.tuner.put(CLIENTS.load(key, text))
        text = await self._store.get(SETTINGS.key())
        if text is not None:
            settings = SETTINGS.load(SETTINGS.key(), text)
            if settings.policy not in self.policies:
                raise StoreError(
                    f"{SETTINGS.key()}: the policy {settings.policy!r} is not loaded; "
                    "name its file with --policy-file"
                )
            self._apply(settings)

    def get(self, name: str) -> Client:
        """Raises Error."""
        if name not in self.tuner.registered:
            raise Error(f"no client {name!r}; list the clients", Kind.NOT_FOUND)
        return self.tuner.registered[name].client

    async def configure(self, **changes: Any) -> None:
        """Changes fields of the settings. Raises Error."""
        async with self._lock:
            settings = replace(self.settings, **changes)
            if settings.policy not in self.policies:
                known = ", ".join(self.policies)
                raise InvalidError(f"policy: {settings.policy!r} is unknown; the policies are {known}")
            clients.check_buffer(settings.buffer, len(self.tuner.registered))
            for each in self.tuner.registered.values():
                if each.client.target > settings.link:
                    target = f"client {each.client.name} has the target {format_rate(each.client.target)}"
                    cure = "lower its target first, or write a faster link"
                    raise InvalidError(f"link_bps: {target}, more than the link's; {cure}")
            await self._store.commit(Transaction({SETTINGS.key(): SETTINGS.dump(settings)}))
            self._apply(settings)
        self._events.tell("gather-configured", **changes)

    async def add(self, registered: clients.Registered) -> None:
        """Raises Error."""
        name = registered.client.name
        async with self._lock:
            if self.settings.link == 0:
                problem = "the link and the buffer of the server are not known yet"
                raise Error(f"{problem}; run `groupflow gather set`", Kind.CONFLICT)
            if name in self.tuner.registered:
                raise Error(f"client {name!r} is there already; change it, or remove it first", Kind.CONFLICT)
            clients.check_buffer(self.settings.buffer, len(self.tuner.registered) + 1)
            await self._put(registered)
        self._events.tell("gather-client-added", name=name)

    async def change(self, name: str, **changes: Any) -> None:
        """Changes fields of a client. Raises Error."""
        async with self._lock:
            self.get(name)
            before = self.tuner.registered[name]
            await self._put(replace(before, client=replace(before.client, **changes)))
        self._events.tell("gather-client-changed", name=name, **changes)

    async def remove(self, name: str) -> None:
        """Raises Error."""
        async with self._lock:
            self.get(name)
            await self._store.commit(Transaction({CLIENTS.key(name): None}))
            self.tuner.remove(name)
        self._events.tell("gather-client-removed", name=name)

    async def direct(self, event: Event, *, repeat: bool, refused: str | None) -> Message | None:
        """The director of a server in this process. Raises EventError."""
        return self.take(0, event, repeat=repeat, refused=refused)

    def take(self, started: int, event: Event, *, repeat: bool, refused: str | None) -> Message | None:
        """The message for a server, after its measurements.

        `started`: when its process was started; a later process takes over. Raises Error, EventError.
        """
        if started < self._server and self.server == "up":
            raise Error("another server that gathers has taken over; stop one of the two", Kind.CONFLICT)
        if started != self._server or self.server == "away":
            self._events.tell("gather-server-up", started=started)
        repeat = repeat or started != self._server
        self._server, self._heard = started, self._clock()
        return self.tuner.take(event, repeat=repeat, refused=refused)

    async def _put(self, registered: clients.Registered) -> None:
        clients.check_client(registered.client, self.settings.link, "target_bps", "minimum_bps")
        key = CLIENTS.key(registered.client.name)
        await self._store.commit(Transaction({key: CLIENTS.dump(registered)}))
        self.tuner.put(registered)

    def _apply(self, settings: GatherSettings) -> None:
        if settings.policy != self.settings.policy:
            self.tuner.set_policy(self.policies[settings.policy])
        limits = Limits(settings.buffer, settings.connections)
        if limits != self.tuner.limits:
            self.tuner.set_limits(limits)
        self.settings = settings
