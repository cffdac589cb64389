"""Processes that cache or place without a switch: they report, and are answered with their bounds.

Hubs, rims and dispatchers register by their reports. Cache agents, split agents and the server that gathers
have registrations of their own (caching, split, gathering); a cache agent's bound is kept here too.
"""

import asyncio
from typing import Annotated, Literal, NamedTuple, TypeAlias, cast

from pydantic import Field, TypeAdapter

from groupflow.agents.controller_link import BOUND_OF, ReportingKind
from groupflow.control.bodies import New, Request
from groupflow.control.sessions.model import Codec, RefusalError
from groupflow.control.sessions.presence import Presence
from groupflow.control.shared import Service, Shared
from groupflow.model.agent import MOST_BYTES, AgentBounds
from groupflow.model.fields import by_keys
from groupflow.store.interface import Transaction

Kind: TypeAlias = ReportingKind | Literal["cache", "split", "gather"]
NAME = r"^[^\x00-\x1f\x7f]{1,255}$"
MOST_AGENTS = 4096
"""registered, and also with a bound in the store"""
_SWEEP_SECONDS = 0.25


class Obeyed(Request):
    """Bounds that a process has, of its own choice or ordered; null: none is known."""

    bytes: int | None = Field(default=None, ge=0)
    rate_bps: int | None = Field(default=None, ge=0)
    hosts: int | None = Field(default=None, ge=0)


class Holds(Request):
    """The data and hosts that a process holds; null: it holds no such thing."""

    bytes: int | None = Field(default=None, ge=0, le=MOST_BYTES)
    files: int | None = Field(default=None, ge=0, le=MOST_BYTES)
    streams: int | None = Field(default=None, ge=0, le=MOST_BYTES)
    members: int | None = Field(default=None, ge=0, le=MOST_BYTES, description="clients, or hosts in a tree")
    hosts: int | None = Field(default=None, ge=0, le=MOST_BYTES, description="connected hosts")


class Report(Request):
    """A process as it stands. Each report also registers it."""

    kind: ReportingKind
    name: str = Field(pattern=NAME)
    started: int = Field(ge=0, description="start of the process, ns since 1970")
    at: str = Field(max_length=255, description="address at which it listens")
    holds: Holds
    bounds: Obeyed = Field(description="the bounds that it obeys now")
    problem: str | None = Field(default=None, max_length=1000)


class AgentId(NamedTuple):
    kind: Kind
    name: str


NO_BOUNDS = AgentBounds()
BOUNDS: Codec[AgentBounds] = Codec("agent-bounds", TypeAdapter(Annotated[AgentBounds, New()]))


class Agents(Service):
    """The processes that report, and the bounds that were set; a bound is in the store before it is told."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.reports: dict[AgentId, Report] = {}
        self.ordered: dict[AgentId, AgentBounds] = {}
        """bounds that were set, also of processes that are away"""
        self.presence: Presence[AgentId] = Presence(shared.clock)
        self._timeout = shared.options.member_timeout
        self._lock = asyncio.Lock()

    async def restore(self) -> None:
        """Takes over the bounds of an earlier controller; the processes report by themselves."""
        for key, text in (await self._store.items(BOUNDS.key(""))).items():
            _, kind, name = key.split("/", 2)
            self._apply(AgentId(cast(Kind, kind), name), BOUNDS.load(key, text))

    def take(self, report: Report) -> AgentBounds:
        """The bounds of a process, after its report. Raises RefusalError."""
        who = AgentId(report.kind, report.name)
        former = self.reports.get(who)
        if former is None and len(self.reports) >= MOST_AGENTS:
            raise RefusalError("unavailable", f"{MOST_AGENTS} agents are registered, the most; stop some")
        if former is not None and report.started < former.started:
            cure = "stop one of the two, or give it another name"
            raise RefusalError("full", f"another {report.kind} {report.name} has taken over; {cure}")
        if former is None or former.started != report.started:
            self._events.tell(f"{report.kind}-up", name=report.name, at=report.at)
        self.reports[who] = report
        self.presence.hear(who)
        return self.ordered.get(who, NO_BOUNDS)

    async def bound(self, who: AgentId, bounds: AgentBounds) -> None:
        """Sets a process's bound; none is the process's own. Raises RefusalError or StoreError."""
        self._check(who, bounds)
        async with self._lock:
            empty = bounds == NO_BOUNDS
            key = BOUNDS.key(*who)
            await self._store.commit(Transaction({key: None if empty else BOUNDS.dump(bounds)}))
            self._apply(who, bounds)
        self._events.tell("agent-bound", kind=who.kind, name=who.name, **by_keys(AgentBounds, bounds))

    async def run(self) -> None:
        """Sweeps again and again until cancelled."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self.sweep()

    def sweep(self) -> None:
        """Forgets the processes that have been silent for too long; their bounds stay."""
        for who in self.presence.silent(self._timeout):
            self.presence.forget(who)
            del self.reports[who]
            self._events.tell(f"{who.kind}-lost", name=who.name)

    def _check(self, who: AgentId, bounds: AgentBounds) -> None:
        if who.kind == "split":
            raise RefusalError("bad_request", "a split agent's bounds are its sessions'; set their cache")
        if who.kind == "gather":
            cure = "run `groupflow gather set --buffer`"
            raise RefusalError("bad_request", f"the bound of a server that gathers is its buffer; {cure}")
        caches = {agent.name for agent in self._caching.agents.values()}
        known = who.name in caches if who.kind == "cache" else who in self.reports
        if not known and who not in self.ordered:
            raise RefusalError("unknown_session", f"no {who.kind} {who.name!r}; list the agents")
        field = "bytes" if who.kind == "cache" else BOUND_OF[who.kind]
        given = {key for key, value in by_keys(AgentBounds, bounds).items() if value is not None}
        for other in given - {field}:
            raise RefusalError("bad_request", f"{other}: a {who.kind} has no such bound; set its {field}")
        if len(self.ordered) >= MOST_AGENTS and who not in self.ordered:
            raise RefusalError("full", f"{MOST_AGENTS} bounds are set, the most; remove some")

    def _apply(self, who: AgentId, bounds: AgentBounds) -> None:
        if bounds == NO_BOUNDS:
            self.ordered.pop(who, None)
        else:
            self.ordered[who] = bounds
        if who.kind == "cache":
            self._caching.bound(who.name, bounds.bytes)
