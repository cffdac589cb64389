"""The dispatchers of one tree in several processes that share a store."""

import asyncio
import json
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from groupflow.store.interface import StoreError, Transaction
from groupflow.store.memory import MemoryStore
from groupflow.tree.forest import Forest
from groupflow.tree.options import DispatchOptions
from groupflow.tree.service import Dispatch
from tests.unit.tree.test_dispatch import OPTIONS, Host, until

PREFIX = "trees/tree/run/"
APART = replace(OPTIONS, threshold_ms=0, patience_ms=3000, lease=0.4)
"""each host founds a cluster, and a process that says nothing for a moment is replaced"""


class Roamer(Host):
    """Goes where it is sent; when its connection is lost, to whichever process there is."""

    def __init__(self, number: int, processes: "list[Process]", *, source: bool = False) -> None:
        super().__init__(number, source=source)
        self.processes = processes
        self.sent: list[int] = []
        """to which ports"""
        self.ended = False
        self.join["capacity"] = 3

    async def roam(self) -> None:
        turn = int(self.name, 16)
        port = self._port(turn)
        while not self.ended:
            try:
                port = await self._stay(port)
            except OSError:
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
        """As SQLite has it: what others have stored changes it."""
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
        """A tree of so many and their source, which is returned."""
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
        """How many clusters each process has, by its address."""
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


async def test_each_process_runs_some_of_the_clusters() -> None:
    async with lab(3) as subject:
        source = await subject.grow(8)
        assert sorted((await subject.shares()).values()) == [3, 3, 3]
        assert any(host.sent for host in subject.hosts)
        await until(lambda: any(line.get("hosts") == 8 for line in source.told))
        told = [await process.service.forest.hosts() for process in subject.processes]
        assert told[0] == told[1] == told[2], "whoever is asked knows all"

        async def all_mail_came() -> bool:
            return not await subject.stored("mail")

        await until(all_mail_came)


async def test_hosts_are_told_where_processes_are_that_come_later() -> None:
    async with lab(2) as subject:
        await subject.grow(2)
        await subject.serve()
        addresses = sorted(each.address for each in subject.processes)

        def told(host: Roamer) -> bool:
            return any(line.get("dispatchers") == addresses for line in host.told)

        await until(lambda: all(told(host) for host in subject.hosts))


@pytest.mark.parametrize("dies", [True, False], ids=["root", "other"])
async def test_a_process_that_dies_is_replaced_and_no_host_is_moved(dies: bool) -> None:
    async with lab(3) as subject:
        await subject.grow(6)
        dead = next(each for each in subject.processes if each.service.forest.has_root == dies)
        orders = [host.order for host in subject.hosts]
        for host in subject.hosts:
            host.sent.clear()
        subject.processes.remove(dead)
        dead.kill()

        async def replaced() -> bool:
            shares = await subject.shares()
            return dead.address not in shares and sum(shares.values()) == 7

        await until(replaced)
        await subject.host()
        await until(subject.attached)
        assert [host.order for host in subject.hosts[:-1]] == orders, "nobody was moved"
        ports = {str(port) for host in subject.hosts for port in host.sent}
        assert dead.address.rpartition(":")[2] not in ports, "nobody was sent back to it"


async def test_a_process_that_is_stopped_gives_its_clusters_to_another() -> None:
    async with lab(2, replace(APART, lease=3600)) as subject:
        await subject.grow(4)
        subject.processes.pop(0).stop()

        async def given() -> bool:
            return await subject.shares() == {subject.processes[0].address: 5}

        await until(given)
        await subject.host()
        await until(subject.attached)


async def test_one_that_was_taken_for_dead_tells_nothing_and_begins_again() -> None:
    async with lab(2) as subject:
        await subject.grow(4)
        still, other = subject.processes
        still.store.awake.clear()

        async def replaced() -> bool:
            return await subject.shares() == {other.address: 5}

        await until(replaced)
        still.store.awake.set()
        await until(lambda: "superseded" in still.events)
        await subject.host()
        await until(subject.attached)
        assert set(await subject.shares()) == {still.address, other.address}


async def test_when_the_source_has_left_all_processes_say_so() -> None:
    async with lab(2) as subject:
        source = await subject.grow(4)
        source.say("leave")
        await until(lambda: all(host.ended for host in subject.hosts))
        assert await subject.stored("owners") == {}


async def test_one_that_is_forgotten_goes_on_with_its_own_hosts() -> None:
    async with lab(1) as subject:
        await subject.grow(4)
        orders = [host.order for host in subject.hosts]
        (name,) = await subject.stored("processes")
        await subject.store.commit(Transaction({f"{PREFIX}processes/{name}": None}))
        (process,) = subject.processes
        await until(lambda: "superseded" in process.events)
        await until(lambda: process.service.connected == 5)
        await subject.host()
        await until(subject.attached)
        assert [host.order for host in subject.hosts[:-1]] == orders
        assert "ended" not in process.events


async def test_many_that_come_at_once_are_told_apart() -> None:
    async with lab(2) as subject:
        await subject.host(source=True)
        await asyncio.gather(*(subject.host() for _ in range(16)))
        await until(subject.attached)
        assert [process.events.count("superseded") for process in subject.processes] == [0, 0]


async def test_a_tree_that_was_not_cleared_away_does_not_hold_up_the_next() -> None:
    async with lab(1) as subject:
        source = await subject.grow(3)
        (process,) = subject.processes
        commit = process.store.commit

        async def breaks(transaction: Transaction) -> bool:
            done = await commit(transaction)
            if done and f"{PREFIX}source" in transaction.writes:
                process.kill()  # the end is stored, and nothing after it
            return done

        process.store.commit = breaks
        source.say("leave")
        await until(lambda: not process.store.alive)
        subject.processes.clear()
        for host in subject.hosts:
            host.ended = True
        subject.hosts.clear()
        await subject.serve()
        await subject.grow(3)
        assert len(await subject.stored("owners")) == 4


async def test_what_is_not_stored_yet_is_not_undone_by_what_is() -> None:
    store, options = MemoryStore(), replace(APART, max_members=1)
    forest = await Forest.open(store, options, time.monotonic_ns)
    await forest.enter("127.0.0.1:1")
    source, host = Host(1, source=True), Host(2)
    await forest.begin(source.join)
    assert forest.root
    join = json.dumps({"say": "join", "what": host.join})
    ((cluster, name, probe),) = forest.hear(forest.root, host.name, join)
    far = [[peer["host"], 1_000_000] for peer in json.loads(probe)["what"]]
    told = forest.hear(cluster, name, json.dumps({"say": "measured", "what": far}))
    assert any("redirect" in message for _, _, message in told), "it founds a cluster"
    # Another process stores something, which is looked at.
    assert await store.commit(Transaction({"another": "1"}))
    await forest.look()
    await forest.save()
    assert len(await store.items(f"{PREFIX}owners/")) == 2
