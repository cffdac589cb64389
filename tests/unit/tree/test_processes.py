"""The dispatchers of one tree in several processes that share a store."""

import asyncio
import json
import time
from dataclasses import replace

import pytest

from groupflow.store.interface import Transaction
from groupflow.store.memory import MemoryStore
from groupflow.tree.forest import Forest
from tests.support.tree import Host
from tests.support.waiting import until
from tests.unit.tree.processes import APART, PREFIX, Roamer, lab

pytestmark = pytest.mark.slow


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

        async def cleared() -> bool:  # after the hosts were told
            return await subject.stored("owners") == {}

        await until(cleared)


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


async def two_clusters(store: MemoryStore) -> Forest:
    """A forest whose second cluster is not stored yet."""
    forest = await Forest.open(store, replace(APART, max_members=1), time.monotonic_ns)
    await forest.enter("127.0.0.1:1")
    source, host = Host(1, source=True), Host(2)
    await forest.begin(source.join)
    assert forest.root
    join = json.dumps({"say": "join", "what": host.join})
    ((cluster, name, probe),) = forest.hear(forest.root, host.name, join)
    far = [[peer["host"], 1_000_000] for peer in json.loads(probe)["what"]]
    told = forest.hear(cluster, name, json.dumps({"say": "measured", "what": far}))
    assert any("redirect" in message for _, _, message in told), "it founds a cluster"
    return forest


async def test_a_look_right_after_the_source_has_left_clears_the_tree_away() -> None:
    forest = await two_clusters(store := MemoryStore())
    await forest.save()
    assert forest.root and len(await store.items(f"{PREFIX}owners/")) == 2
    forest.hear(forest.root, Host(1).name, json.dumps({"say": "leave"}))
    await forest.look()
    assert forest.over and forest.root is None
    assert not await store.items(f"{PREFIX}owners/") and not await store.items("trees/tree/clusters/")


async def test_what_is_not_stored_yet_is_not_undone_by_what_is() -> None:
    forest = await two_clusters(store := MemoryStore())
    # Another process stores something, which is looked at.
    assert await store.commit(Transaction({"another": "1"}))
    await forest.look()
    await forest.save()
    assert len(await store.items(f"{PREFIX}owners/")) == 2
