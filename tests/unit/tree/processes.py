"""Dispatchers of one tree in several processes that share a store, for tests."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from groupflow.store.interface import StoreError, Transaction
from groupflow.store.memory import MemoryStore
from groupflow.tree.options import DispatchOptions
from groupflow.tree.service import Dispatch
from tests.support.tree import OPTIONS, Host
from tests.support.waiting import until

PREFIX = "trees/tree/run/"
APART = replace(OPTIONS, threshold_ms=0, patience_ms=3000, lease=0.4)
"""options with which each host founds a cluster, and a briefly silent process is replaced"""


class Roamer(Host):
    """Goes to the process it is sent to; when its connection is lost, to any process there is."""

    def __init__(self, number: int, processes: "list[Process]", *, source: bool = False) -> None:
        super().__init__(number, source=source)
        self.processes = processes
        self.sent: list[int] = []
        """ports that it was sent to"""
        self.ended = False
        self.join["capacity"] = 3

    async def roam(self) -> None:
        turn = int(self.name, 16)
        port = self._port(turn)
        while not self.ended:
            try:
                port = await self._stay(port)
            except OSError:
                if self.ended:  # its processes may be gone
                    return
                self.lost.append(f"127.0.0.1:{port}")
                turn += 1
                port = self._port(turn)
                await asyncio.sleep(0.02)

    def _port(self, turn: int) -> int:
        return int(self.processes[turn % len(self.processes)].address.rpartition(":")[2])

    async def _stay(self, port: int) -> int:
        """Until it is sent to another port; raises OSError when the connection is lost."""
        self._greet(await self.connect(port))
        self.lost.clear()
        alive = asyncio.create_task(self._say_alive())
        try:
            while "closed" not in (line := await self.next()):
                if "elsewhere" in line:
                    self.sent.append(int(line["elsewhere"]["at"].rpartition(":")[2]))
                    return self.sent[-1]
                if line.get("refused", {}).get("code") == "ended":
                    self.ended = True
                    return port
                self.obey(line)
            raise ConnectionResetError
        finally:
            alive.cancel()
            self.writer.transport.abort()

    def _greet(self, answer: dict[str, Any]) -> None:
        if "welcome" not in answer:
            raise ConnectionResetError
        root = answer["welcome"]["root"]
        if self.source:
            self.cluster = root
        elif self.order:
            self.say("back", {"order": self.order, "attached": True})
        else:
            self.cluster = self.cluster or root
            self.say("join", self.join)

    def obey(self, line: dict[str, Any]) -> None:
        if line.get("joins", self.joins) != self.joins:
            return
        if line.get("say") == "refused":
            self.order, self.parent, self.cluster = 0, None, ""
            raise ConnectionResetError
        if line.get("say") == "redirect":
            self.order = 0
        super().obey(line)


class Mortal(MemoryStore):
    """A process's connection to a store that others have, too: it may stand still, or break."""

    def __init__(self, shared: MemoryStore) -> None:
        super().__init__()
        self.shared = shared
        self.alive = True
        self.own = 0
        self.awake = asyncio.Event()
        self.awake.set()

    async def _reach(self) -> MemoryStore:
        await self.awake.wait()
        if not self.alive:
            raise StoreError("killed")
        return self.shared

    async def get(self, key: str) -> str | None:
        return await (await self._reach()).get(key)

    async def items(self, prefix: str) -> dict[str, str]:
        return await (await self._reach()).items(prefix)

    async def commit(self, transaction: Transaction) -> bool:
        done = await (await self._reach()).commit(transaction)
        self.own += done
        return done

    async def version(self) -> int:
        """SQLite's data version, which changes when others have stored something."""
        return await (await self._reach()).version() - self.own


class Process:
    """A service, as if it had a process of its own."""

    def __init__(self, store: MemoryStore, options: DispatchOptions) -> None:
        self.store = Mortal(store)
        self.events: list[str] = []
        self.service = Dispatch(options, self.store, on_event=lambda name, _: self.events.append(name))
        self.address = ""
        self._stop = asyncio.Event()

    async def run(self) -> None:
        try:
            async with self.service:
                self.address = f"127.0.0.1:{self.service.port}"
                await self._stop.wait()
        except* StoreError:
            assert not self.store.alive

    def stop(self) -> None:
        self._stop.set()

    def kill(self) -> None:
        self.store.alive = False


class Lab:
    """Processes that share a store, and hosts."""

    def __init__(self, tasks: asyncio.TaskGroup, options: DispatchOptions) -> None:
        self.options = options
        self.store = MemoryStore()
        self.processes: list[Process] = []
        self.hosts: list[Roamer] = []
        self._tasks = tasks
        self._running: list[asyncio.Task[None]] = []

    async def serve(self) -> None:
        process = Process(self.store, self.options)
        self._running.append(self._tasks.create_task(process.run()))
        await until(lambda: process.address)
        self.processes.append(process)

    async def host(self, *, source: bool = False) -> Roamer:
        host = Roamer(len(self.hosts) + 1, self.processes, source=source)
        self.hosts.append(host)
        self._running.append(self._tasks.create_task(host.roam()))
        await until(lambda: host.cluster if source else host.parent)
        return host

    async def grow(self, hosts: int) -> Roamer:
        """Makes a tree of so many hosts. Returns the source."""
        source = await self.host(source=True)
        for _ in range(hosts):
            await self.host()
        await until(self.attached)
        return source

    def end(self) -> None:
        for task in self._running:
            task.cancel()

    async def stored(self, what: str) -> dict[str, str]:
        prefix = f"{PREFIX}{what}/"
        stored = await self.store.items(prefix)
        return {key.removeprefix(prefix): value for key, value in stored.items()}

    async def shares(self) -> dict[str, int]:
        """Number of clusters of each process, by its address."""
        processes = await self.stored("processes")
        counts = dict.fromkeys((json.loads(said)["address"] for said in processes.values()), 0)
        for owner in (await self.stored("owners")).values():
            if owner in processes:
                counts[json.loads(processes[owner])["address"]] += 1
        return counts

    async def attached(self) -> bool:
        """Whether all hosts have a place."""
        found = await self.processes[-1].service.forest.hosts()
        return len(found) == len(self.hosts) and all(host["attached"] for host in found)


@asynccontextmanager
async def lab(count: int, options: DispatchOptions = APART):
    async with asyncio.TaskGroup() as tasks:
        subject = Lab(tasks, options)
        try:
            for _ in range(count):
                await subject.serve()
            yield subject
        finally:
            subject.end()
