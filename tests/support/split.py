"""A whole controller with fake switches and fake split agents."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from groupflow.model.session import NewTcp
from groupflow.store.interface import Store
from tests.support.fake_agent import FakeAgent
from tests.support.waiting import until
from tests.support.world import FakeHost, World, world

ADDRESS = 0x0AC80001
REFUSED = {(0x0AC80000, 16): ()}
TCP = NewTcp(ports=(5000,))


class Lab:
    """A controller over three switches, and the agents c1 of s1 and c2 of s2."""

    def __init__(self, made: World, agents: dict[str, FakeAgent]) -> None:
        self.world = made
        self.agents = agents

    def routes(self, switch: str) -> dict[tuple[int, ...], tuple[int, ...]]:
        """The switch's routes for the sessions' prefix."""
        table = self.world.switches[switch].table("ipv4_route")
        return {match: params for match, params in table.items() if match[0] >> 16 == 0x0AC8}

    def next_hop(self, switch: str, address: int = ADDRESS) -> str | None:
        params = self.routes(switch).get((address, 32))
        return self.world.topology.switches[switch].ports[params[0]].node if params else None

    def branches(self, agent: str, session: int = 7) -> list[str]:
        form = self.agents[agent].sessions.get(session)
        return [branch["name"] for branch in form["branches"]] if form else ["no session"]

    def state(self, switch: str) -> str:
        return self.world.running.splitting.agents[switch].state

    async def up(self, *switches: str) -> None:
        await until(lambda: all(self.state(switch) == "up" for switch in switches), "agents up")

    async def down(self, switch: str) -> None:
        await until(lambda: self.state(switch) == "down", f"{switch} down")

    async def pass_time(self, seconds: float) -> None:
        self.world.clock.now += seconds
        self.world.running.splitting.sweep()
        await self.world.settle()

    def events(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.world.running.events.recent() if event["event"] == name]

    async def listener(self, host: str, port: int = 9000, **fields: Any) -> FakeHost:
        member = self.world.host(host, fields.pop("udp_port", 5000))
        answer = await member.join(7, "listener", port=port, **fields)
        assert answer.kind == "joined", answer
        return member


@asynccontextmanager
async def lab(folder: Path, *, present: str = "c1 c2", store: Store | None = None) -> AsyncGenerator[Lab]:
    agents = {name: FakeAgent(folder / f"{name}.split.sock") for name in ("c1", "c2")}
    for name in present.split():
        await agents[name].start()
    try:
        async with world(store=store, sockets=folder) as made:
            subject = Lab(made, agents)
            await subject.up(*(f"s{name[1]}" for name in present.split()))
            yield subject
    finally:
        for agent in agents.values():
            await agent.stop()
