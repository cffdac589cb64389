"""A whole controller over fake switches, with a clock that moves only when told."""

import asyncio
import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from groupflow.control.controller import Controller
from groupflow.control.sessions.admission import Options, token
from groupflow.control.sessions.model import Session
from groupflow.files import topology
from groupflow.lab.frames import request_frame
from groupflow.model.session import NewSession
from groupflow.model.topology import Switch
from groupflow.p4rt.connection import Connection
from groupflow.p4rt.program import Program
from groupflow.store.interface import MemoryStore, Store
from tests.support.fake_switch import FakeSwitch
from tests.support.waiting import quiet, until
from tests.support.wire import Received

BUILD = Path(__file__).parents[2] / "p4src" / "build"
P4INFO, JSON = BUILD / "groupflow.p4info.txtpb", BUILD / "groupflow.json"

TOPOLOGY = """
name: three
defaults: {link: {rate: 100mbit, delay: 10ms}}
switches:
  s1: {device_id: 1, grpc: 9561, agent: c1}
  s2: {device_id: 2, grpc: 9562, agent: c2}
  s3: {device_id: 3, grpc: 9563}
hosts:
  h1: {ip: 10.0.1.1/24}
  h2: {ip: 10.0.1.2/24}
  h3: {ip: 10.0.2.1/24}
  h4: {ip: 10.0.3.1/24}
  c1: {ip: 10.0.101.1/24}
  c2: {ip: 10.0.102.1/24}
links:
  - {ends: [h1, s1]}
  - {ends: [h2, s1], rate: 10mbit}
  - {ends: [s1, s2], rate: 50mbit}
  - {ends: [h3, s2]}
  - {ends: [s2, s3]}
  - {ends: [h4, s3]}
  - {ends: [c1, s1], rate: unlimited, delay: 0ms, queue: 4000}
  - {ends: [c2, s2], rate: unlimited, delay: 0ms, queue: 4000}
"""


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class World:
    """Made by `world`."""

    def __init__(self, text: str, store: Store, options: Options, sockets: Path, program: Program) -> None:
        self.topology = topology.parse(text)
        self.switches = {name: FakeSwitch(name) for name in self.topology.switches}
        self.store = store
        self.options = options
        self.sockets = sockets
        self.program = program
        self.clock = Clock()
        self.controller: Controller | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> Controller:
        assert self.controller is not None
        return self.controller

    async def start(self) -> None:
        """Starts a controller, or starts it again."""
        self.controller = await Controller.open(
            self.topology,
            self.program,
            self.store,
            self.options,
            sockets=self.sockets,
            connector=self._connect,
            clock=self.clock,
            wall=lambda: self.clock.now + 1_700_000_000,
        )
        self._task = asyncio.create_task(self.controller.run())
        await until(lambda: all(s.connections and self.state(n) == "up" for n, s in self.switches.items()))

    async def stop(self) -> None:
        """Ends the controller as a kill would: nothing is tidied up."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def state(self, switch: str) -> str:
        return self.running.devices[switch].state

    async def settle(self) -> None:
        """Waits until nothing is under way."""
        for _ in range(3):  # a request may change switches, which may answer
            await quiet()
            await self.running.control.idle()
            for device in self.running.devices.values():
                await device.settled()
        await quiet()

    async def advance(self, seconds: float, *, alive: "tuple[FakeHost, ...]" = ()) -> None:
        """Lets time pass, while some hosts report that they are alive, then sweeps."""
        for _ in range(int(seconds * 2)):
            self.clock.now += 0.5
            for host in alive:
                host.keepalive()
            await self.settle()
        await self.running.watchdog.sweep()
        await self.settle()

    async def session(self, number: int = 7, **settings: Any) -> Session:
        return await self.running.manager.create(NewSession(id=number, **settings))

    def token(self, session: int, role: Any = "join") -> str:
        manager = self.running.manager
        return token(manager.secret, manager.get(session).record, role)

    def host(self, name: str, udp_port: int = 5000) -> "FakeHost":
        return FakeHost(self, name, udp_port)

    async def _connect(self, switch: Switch, election_id: int) -> Connection:
        return await self.switches[switch.name].connect()


class FakeHost:
    """A process on a host: sends requests, and reads the answers."""

    _ids = itertools.count(1)

    def __init__(self, world: World, name: str, udp_port: int) -> None:
        self.world = world
        self.host = world.topology.hosts[name]
        self.udp_port = udp_port
        self.member = 0
        self.session = 0
        self.cache = False
        self.next = 0

    @property
    def received(self) -> list[Received]:
        sent = self.world.switches[self.host.switch].sent
        return [reply for port, reply in sent if port == self.host.port and reply.udp_port == self.udp_port]

    def notices(self) -> list[tuple[str, int, int]]:
        """Kind and subject of each notice, and its number of receivers."""
        return [(r.word, r["about"], r["receivers"]) for r in self.received if r.kind == "notice"]

    def ask(self, type_: Any, **fields: Any) -> int:
        """Sends a request without waiting."""
        request_id = fields.pop("request_id", None) or next(self._ids)
        given: dict[str, Any] = {"session": self.session, "member": self.member, **fields}
        frame = request_frame(
            type_,
            eth_src=self.host.mac,
            ip_src=fields.pop("ip_src", None) or str(self.host.ip),
            udp_src=self.udp_port,
            request_id=request_id,
            **{key: value for key, value in given.items() if key != "ip_src"},
        )
        self.world.switches[self.host.switch].punt(self.host.port, frame)
        return request_id

    def answers(self, request_id: int) -> list[Received]:
        return [reply for reply in self.received if reply.request_id == request_id]

    async def call(self, type_: Any, **fields: Any) -> Received:
        """Sends a request and waits for its answer."""
        request_id = self.ask(type_, **fields)
        await until(lambda: bool(self.answers(request_id)), f"answer to {type_} of {self.host.name}")
        return self.answers(request_id)[-1]

    async def join(self, session: int, role: Any = "receiver", **fields: Any) -> Received:
        if "token" not in fields:
            fields["token"] = self.world.token(session)
        answer = await self.call(
            "join", session=session, role=role, name=self.host.name, member=self.member, **fields
        )
        if answer.kind == "joined":
            self.member, self.session = answer["member"], session
        return answer

    async def register(self, token: str = "") -> Received:
        """Registers as a cache agent."""
        answer = await self.call("join", session=0, role="cache", name=self.host.name, member=0, token=token)
        self.cache = answer.kind == "joined"
        self.member = answer["member"] if self.cache else 0
        return answer

    def keepalive(self) -> None:
        self.ask("keepalive", session=self.session, next=self.next)


@asynccontextmanager
async def world(
    text: str = TOPOLOGY,
    *,
    store: Store | None = None,
    sockets: Path | None = None,
    program: Program | None = None,
    **options: Any,
) -> AsyncGenerator[World]:
    """`sockets`: folder of the split agents' control sockets; None: there are no split agents."""
    nowhere = Path("/nonexistent")
    made = World(
        text,
        store or MemoryStore(),
        replace(Options(), **options),
        sockets or nowhere,
        program or Program.load(P4INFO, JSON),
    )
    await made.start()
    try:
        yield made
    finally:
        await made.stop()
