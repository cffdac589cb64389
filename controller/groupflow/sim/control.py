"""The controller in virtual time: the one that runs real networks, over simulated switches.

An event loop whose clock is the simulator's: where it would wait, time passes in the network instead.
Sleeps and timeouts of the controller are then simulated, too, and a run is the same every time.
"""

import asyncio
import math
import selectors
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from finsy.proto import p4r

from groupflow.control.controller import Controller
from groupflow.control.sessions.admission import Options, token
from groupflow.control.sessions.model import Session, SessionRecord
from groupflow.model.flow import FlowRequest
from groupflow.model.session import NewSession
from groupflow.model.topology import Switch
from groupflow.p4rt.connection import PacketIn, PacketOut, metadata_of, packet_in
from groupflow.p4rt.entries import DELETE, Change, Entries, Key, encode
from groupflow.p4rt.program import Program
from groupflow.sim.model import Scenario
from groupflow.store.interface import MemoryStore, Transaction

if TYPE_CHECKING:
    from groupflow._native import NativeSim

CONTROL_STEP_NS = 10**6
"""Time between two looks at packets from switches: on average, a packet waits half of it."""
_SECRET, _SALT = "00" * 32, "00" * 8
"""fixed, because nothing here is secret, and a run must repeat"""

OnStep = Callable[[int], None]
"""called with the time (ns) after each step"""
Follow = Callable[[Controller], Coroutine[None, None, None]]


def session_token(session: int) -> str:
    """The token of the members of a simulated session."""
    record = SessionRecord(id=session, mode="e2e", policy="strict", window=1, salt=_SALT, created=0)
    return token(_SECRET, record, "join")


def run_controlled(
    sim: "NativeSim", scenario: Scenario, program: Program, on_step: OnStep, follow: Follow | None = None
) -> None:
    """Runs a scenario to its end with a controller, which `follow` may watch."""
    network = _Network(sim, scenario, program, on_step)
    loop = _Loop(network)
    try:
        loop.run_until_complete(_serve(network, scenario, program, loop.time, follow))
    finally:
        network.end()
        if tasks := asyncio.all_tasks(loop):  # where `on_step` raised
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.close()


async def _serve(
    network: "_Network",
    scenario: Scenario,
    program: Program,
    clock: Callable[[], float],
    follow: Follow | None,
) -> None:
    store = MemoryStore()
    await store.commit(Transaction({"controller/secret": _SECRET}))
    controller = await Controller.open(
        scenario.topology, program, store, Options(), connector=network.connect, clock=clock, wall=clock
    )
    for group in scenario.sessions:
        session = await controller.manager.create(
            NewSession(id=group.id, mode=group.mode, policy=group.policy)
        )
        record = replace(session.record, salt=_SALT)
        controller.manager.sessions[group.id] = Session(record, session.members)
    work = [controller.run(), network.ended.wait(), *([follow(controller)] if follow else [])]
    if any(group.control for group in scenario.sessions):
        work.append(_control_streams(controller, scenario, network.ended))
    tasks = [asyncio.create_task(each) for each in work]
    done, running = await asyncio.wait(tasks, return_when="FIRST_COMPLETED")
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    for task in done:
        task.result()  # raises what ended it, such as a recording on a full disk


async def _control_streams(controller: Controller, scenario: Scenario, ended: asyncio.Event) -> None:
    """Puts streams under diffusion-type flow control as soon as their senders have joined."""
    changed = asyncio.Event()
    controller.fabric.observers.append(lambda _: changed.set())
    for group in scenario.sessions:
        while group.control and not controller.manager.get(group.id).sources:
            changed.clear()
            await changed.wait()
        if group.control:
            request = FlowRequest(kind="session", session=group.id, **asdict(group.control))
            await controller.diffusion.install(request)
    await ended.wait()


class _Network:
    """The simulated switches, as the controller sees them."""

    def __init__(self, sim: "NativeSim", scenario: Scenario, program: Program, on_step: OnStep) -> None:
        self.now_ns = 0
        self.ended = asyncio.Event()
        self._sim = sim
        self._program = program
        self._end_ns = scenario.duration_ns
        self._on_step = on_step
        self._connections: dict[str, _Connection] = {}

    async def connect(self, switch: Switch, election_id: int) -> "_Connection":
        connection = _Connection(self._sim, switch.name, self._program)
        self._connections[switch.name] = connection
        return connection

    def end(self) -> None:
        """Lets no more time pass."""
        self._end_ns = self.now_ns

    def advance(self, seconds: float | None) -> None:
        """Lets at most so much time pass, and hands the switches' packets to the controller."""
        if self.now_ns >= self._end_ns:
            self.ended.set()
            return
        wanted_ns = CONTROL_STEP_NS if seconds is None else max(1, math.ceil(seconds * 1e9))
        until_ns = min(self.now_ns + min(wanted_ns, CONTROL_STEP_NS), self._end_ns)
        while self.now_ns < until_ns:
            self.now_ns, _, _ = self._sim.step(100, until_ns)
        for _, switch, frame, metadata in self._sim.take_packet_ins():
            if switch in self._connections:
                self._connections[switch].deliver(frame, dict(metadata))
        self._on_step(self.now_ns)


class _Connection:
    """A simulated switch in place of a P4Runtime connection."""

    def __init__(self, sim: "NativeSim", name: str, program: Program) -> None:
        self.has_traffic_manager = True
        self._sim = sim
        self._name = name
        self._program = program
        self._entries: Entries = {}
        self._packets: asyncio.Queue[PacketIn] = asyncio.Queue()

    async def write(self, changes: Sequence[Change]) -> dict[Key, str]:
        updates = [encode(self._program, change).SerializeToString() for change in changes]
        refused: dict[Key, str] = {}
        for change, result in zip(changes, self._sim.write(self._name, updates), strict=True):
            if result is not None:
                refused[change.key] = result[1]
            elif change.kind == DELETE:
                del self._entries[change.key]
            elif change.value is not None:
                self._entries[change.key] = change.value
        return refused

    async def read(self) -> Entries:
        return dict(self._entries)

    async def query(self, entities: Sequence[p4r.Entity]) -> list[p4r.Entity]:
        return []  # counters are read in running networks only

    async def send(self, packet: PacketOut) -> None:
        self._sim.packet_out(self._name, packet.frame, metadata_of(self._program, packet))

    def deliver(self, frame: bytes, metadata: dict[int, bytes]) -> None:
        self._packets.put_nowait(packet_in(self._program, metadata, frame))

    async def packets(self) -> AsyncIterator[PacketIn]:
        while True:
            yield await self._packets.get()

    async def close(self) -> None:
        pass


class _Selector(selectors.DefaultSelector):
    """A selector that advances the network instead of waiting."""

    def __init__(self, network: _Network) -> None:
        super().__init__()
        self._network = network

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if not events and (timeout is None or timeout > 0):
            self._network.advance(timeout)
        return events


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, network: _Network) -> None:
        self._network = network
        super().__init__(_Selector(network))

    def time(self) -> float:
        return self._network.now_ns / 1e9
