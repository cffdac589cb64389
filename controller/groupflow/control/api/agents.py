"""The REST API of all agents, /v1/agents: what each holds and obeys, and the bounds set for it."""

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter
from pydantic import BaseModel, Field

from groupflow.control.agents import NAME, NO_BOUNDS, AgentId, Holds, Kind, Obeyed, Report
from groupflow.control.bodies import New, Request, View
from groupflow.control.controller import Controller
from groupflow.control.split.agent import SplitAgent
from groupflow.model.agent import AgentBounds
from groupflow.model.fields import by_keys

_Bounds: TypeAlias = Annotated[Any, View(AgentBounds)]


class AgentView(BaseModel):
    kind: Kind
    name: str
    switch: str | None = Field(default=None, description="the switch beside which it is")
    host: str | None = Field(default=None, description="its host in the topology")
    at: str | None = Field(default=None, description="address at which it listens")
    state: Literal["up", "away"]
    heard: float | None = Field(default=None, description="seconds since its last report")
    holds: Holds
    bounds: Obeyed = Field(description="bounds that it obeys, a cache: is told to obey; null: its own")
    ordered: _Bounds = Field(description="bounds set at the controller; null: none")
    repairs: int | None = Field(default=None, description="packets repaired from the cache")
    problem: str | None = None


class NewBounds(Request):
    """Bounds of an agent, in the place of those set before; null or left out: the agent's own."""

    kind: Kind
    name: str = Field(pattern=NAME)
    bounds: Annotated[AgentBounds, New()]


def agent_routes(controller: Controller) -> APIRouter:
    router = APIRouter(tags=["agents"])
    agents = controller.agents

    @router.get("/agents")
    async def list_agents() -> list[AgentView]:
        return await agent_views(controller)

    @router.put("/agents/bounds")
    async def set_bounds(new: NewBounds) -> _Bounds:
        """Sets the bounds of an agent; kept, obeyed within two reports, or from a hub's next file on."""
        await agents.bound(AgentId(new.kind, new.name), new.bounds)
        return new.bounds

    @router.post("/agents/reports")
    async def take_report(report: Report) -> _Bounds:
        """Registers or renews a hub, a rim or a dispatcher; the answer has the bounds set for it."""
        return agents.take(report)

    return router


async def agent_views(controller: Controller) -> list[AgentView]:
    """All agents, running or with a bound that was set."""
    split = await asyncio.gather(*map(_split, controller.splitting.agents.values()))
    return [*_caches(controller), *split, *_gather(controller), *_reporting(controller)]


def _caches(controller: Controller) -> Iterator[AgentView]:
    caching, watchdog = controller.caching, controller.watchdog
    trees = controller.fabric.trees.values()
    for switch, agent in sorted(caching.agents.items()):
        heard = watchdog.agents.last(switch)
        streams = sum(1 for tree in trees if switch in tree and tree[switch].agent)
        yield AgentView(
            kind="cache",
            name=agent.name,
            switch=switch,
            host=agent.host,
            at=f"{controller.topology.hosts[agent.host].ip}:{agent.udp_port}",
            state="up",
            heard=watchdog.agents.age(switch),
            holds=Holds(bytes=heard.next * 1024 if heard else 0, streams=streams),
            bounds=Obeyed(bytes=caching.max_bytes(switch) or None),
            ordered=controller.agents.ordered.get(AgentId("cache", agent.name), NO_BOUNDS),
            repairs=heard.repairs if heard else 0,
            problem="its cache is full" if agent.full else None,
        )


async def _split(agent: SplitAgent) -> AgentView:
    told = await agent.stats() or {}

    def count(key: str) -> int:
        value = told.get(key)
        return value if isinstance(value, int) else 0

    return AgentView(
        kind="split",
        name=agent.host,
        switch=agent.switch,
        host=agent.host,
        at=str(agent.place),
        state="up" if agent.state == "up" else "away",
        holds=Holds(bytes=count("cache_used"), streams=count("streams")),
        bounds=Obeyed(bytes=count("cache_limit") or None),
        ordered=NO_BOUNDS,
        problem=agent.problem if agent.state == "down" else None,
    )


def _gather(controller: Controller) -> Iterator[AgentView]:
    """The server that gathers, once it or a client of it is known."""
    gathering = controller.gathering
    tuner, up = gathering.tuner, gathering.server == "up"
    if not up and not tuner.registered:
        return
    buffer = gathering.settings.buffer or None
    windows = sum(setting.window or 0 for setting in tuner.settings.values())
    yield AgentView(
        kind="gather",
        name="server",
        state="up" if up else "away",
        holds=Holds(bytes=windows, members=len(tuner.measured) if up else 0),
        bounds=Obeyed(bytes=buffer),
        ordered=AgentBounds(bytes=buffer),
        problem=tuner.problem,
    )


def _reporting(controller: Controller) -> Iterator[AgentView]:
    agents = controller.agents
    caches = {agent.name for agent in controller.caching.agents.values()}
    for who in sorted(agents.reports.keys() | agents.ordered.keys()):
        ordered = agents.ordered.get(who, NO_BOUNDS)
        report = agents.reports.get(who)
        if report is not None:
            heard = agents.presence.age(who)
            yield AgentView(**dict(report), state="up", heard=heard, ordered=ordered)
        elif who.kind != "cache" or who.name not in caches:
            bounds = Obeyed(**by_keys(AgentBounds, ordered))
            yield AgentView(
                kind=who.kind, name=who.name, state="away", holds=Holds(), bounds=bounds, ordered=ordered
            )
