"""The controller, put together: one device a switch, sessions above them, the store below, the API beside."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from groupflow.control.agents import Agents
from groupflow.control.caching import Caching
from groupflow.control.diffusion.service import Diffusion
from groupflow.control.events import Events
from groupflow.control.gather.gathering import Gathering
from groupflow.control.gather.policies import POLICIES, Policies
from groupflow.control.gather.sharing import Sharing
from groupflow.control.sessions.admission import Options, new_secret
from groupflow.control.sessions.fabric import Fabric
from groupflow.control.sessions.manager import SessionManager
from groupflow.control.sessions.packet_in import ControlPlane
from groupflow.control.sessions.post import Post
from groupflow.control.sessions.watchdog import Watchdog
from groupflow.control.shared import Shared
from groupflow.control.split.service import Splitting
from groupflow.data import RUN_FOLDER
from groupflow.model.topology import Switch, Topology
from groupflow.p4rt.connection import Connection, connect, election_id, sequence_of
from groupflow.p4rt.device import Device
from groupflow.p4rt.program import Program
from groupflow.store.interface import MemoryStore, Store, StoreError, Transaction
from groupflow.store.sqlite import SqliteStore

_ELECTION, _SECRET = "controller/election", "controller/secret"

Connector = Callable[[Switch, int], Awaitable[Connection]]
"""Connects to a switch with an election id."""


class Controller:
    """Made by `open`; serves while `run` runs."""

    def __init__(
        self,
        topology: Topology,
        program: Program,
        store: Store,
        secret: str,
        election_id: int,
        options: Options,
        *,
        sockets: Path = RUN_FOLDER,
        policies: Policies = POLICIES,
        connector: Connector | None = None,
        take_over: bool = False,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`take_over`: it takes switches from other controllers."""
        self.topology = topology
        self.program = program
        self.events = Events()
        self.started = wall()
        self._store = store
        self._election_id = election_id
        self._connector = connector or self._connect
        self._take_over = take_over
        self.devices = {name: self._device(switch) for name, switch in topology.switches.items()}
        self.fabric = Fabric(topology, self.devices, program.room, options.tcp_prefix)
        post = Post(self.fabric)
        self.caching = Caching(topology, post, options.cache_bytes)
        shared = Shared(self.fabric, store, post, self.caching, self.events, options, clock, wall)
        self.manager = SessionManager(shared, secret)
        self.watchdog = Watchdog(shared, self.manager)
        self.diffusion = Diffusion(shared, self.devices, self.manager, program)
        self.gathering = Gathering(store, self.events, policies, clock=clock)
        self.sharing = Sharing(shared, self.manager, self.gathering)
        self.agents = Agents(shared)
        self.splitting = Splitting(shared, self.manager, sockets)
        self.control = ControlPlane(shared, self.manager, self.watchdog)

    @staticmethod
    async def open(
        topology: Topology,
        program: Program,
        store: Store,
        options: Options,
        *,
        sockets: Path = RUN_FOLDER,
        policies: Policies = POLICIES,
        connector: Connector | None = None,
        api: tuple[str, int] | None = None,
        take_over: bool = False,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> "Controller":
        """A controller that carries on where the previous controller of this store ended. Others know it by
        its `api`; `take_over`: it takes switches from them. `sockets`: folder of the split agents' sockets.

        Raises StoreError, InvalidError.
        """
        secret, sequence = await _identity(store, int(wall()))
        own_id = election_id(sequence, api, os.getpid())
        controller = Controller(
            topology, program, store, secret, own_id, options,
            sockets=sockets, policies=policies, connector=connector, take_over=take_over, clock=clock,
            wall=wall,
        )  # fmt: skip
        await controller.agents.restore()
        await controller.watchdog.restore()
        await controller.splitting.restore()
        await controller.diffusion.restore()
        await controller.gathering.restore()
        return controller

    async def run(self) -> None:
        """Serves the switches until cancelled. Raises a group with TakenError."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for device in self.devices.values():
                    tasks.create_task(device.run(), name=f"switch {device.name}")
                tasks.create_task(self.watchdog.run(), name="watchdog")
                tasks.create_task(self.splitting.run(), name="splitting")
                tasks.create_task(self.sharing.run(), name="sharing")
                tasks.create_task(self.agents.run(), name="agents")
        finally:
            await self.control.close()

    def _device(self, switch: Switch) -> Device:
        return Device(
            switch.name,
            lambda: self._connector(switch, self._election_id),
            on_packet=lambda name, port, frame: self.control.handle(name, port, frame),
            on_state=lambda name, state: self.watchdog.switch_changed(name, state),
            on_probe=lambda frame: self.diffusion.prober.back(frame),
        )

    async def _connect(self, switch: Switch, election_id: int) -> Connection:
        first = not self.devices[switch.name].held  # a controller that loses a switch does not fight for it
        connection = await connect(
            switch.grpc, switch.device_id, self.program, election_id, take_over=first and self._take_over
        )
        if connection.election_id > self._election_id:
            self._election_id = connection.election_id
            sequence = sequence_of(self._election_id)
            await self._store.commit(Transaction({_ELECTION: str(sequence)}))
        return connection


async def open_store(path: Path | None) -> Store:
    """Opens the store; None: one in memory, lost when the process ends. Raises StoreError."""
    return MemoryStore() if path is None else await SqliteStore.open(path)


async def _identity(store: Store, now: int) -> tuple[str, int]:
    """The secret that tokens are made with, and a number above that of every earlier controller."""
    secret, former = await store.get(_SECRET), await store.get(_ELECTION)
    chosen = secret or new_secret()
    if former is not None and not former.isdecimal():
        raise StoreError(f"{_ELECTION}: {former!r} is no number; delete the store to begin anew")
    sequence = max(now, int(former or 0) + 1)
    writes = {_SECRET: chosen, _ELECTION: str(sequence)}
    if not await store.commit(Transaction(writes, expect={_SECRET: secret, _ELECTION: former})):
        raise StoreError("another controller uses this store; stop it, or name another store")
    return chosen, sequence
