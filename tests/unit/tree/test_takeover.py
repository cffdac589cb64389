"""Failures between processes that share a store: races for clusters without a process, and stopped ones."""

import asyncio
import json
import os
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from groupflow.store.interface import Transaction
from groupflow.store.memory import MemoryStore
from groupflow.tree import shares
from groupflow.tree.forest import Forest
from groupflow.tree.service import Dispatch
from tests.support.tree import OPTIONS, Host, grove, names, running, settled
from tests.support.waiting import until
from tests.unit.tree.processes import APART, PREFIX, Lab, Mortal, Process, lab

pytestmark = pytest.mark.slow

ORPHAN = f"{PREFIX}owners/ffff"
BRIEF = replace(OPTIONS, threshold_ms=0, max_members=1, lease=0.1)


class Racing(Mortal):
    """A forest in which another event happens just before it takes over clusters."""

    before: Callable[[], Awaitable[Any]] | None = None

    async def commit(self, transaction: Transaction) -> bool:
        if ORPHAN in transaction.writes and self.before:
            before, self.before = self.before, None
            await before()
        return await super().commit(transaction)


async def process(store: MemoryStore, number: int) -> tuple[Forest, Racing]:
    own = Racing(store)
    forest = await Forest.open(own, BRIEF, time.monotonic_ns)
    await forest.enter(f"127.0.0.1:{number}")
    return forest, own


async def keys(store: MemoryStore, what: str) -> dict[str, str]:
    found = await store.items(f"{PREFIX}{what}/")
    return {key.removeprefix(f"{PREFIX}{what}/"): value for key, value in found.items()}


def found_cluster(forest: Forest, host: Host) -> str:
    """A host begins a cluster below the root's, which is returned."""
    assert forest.root
    join = json.dumps({"say": "join", "what": host.join})
    ((cluster, name, probe),) = forest.hear(forest.root, host.name, join)
    far = [[peer["host"], 1_000_000] for peer in json.loads(probe)["what"]]
    told = forest.hear(cluster, name, json.dumps({"say": "measured", "what": far}))
    (to,) = [json.loads(text)["what"] for _, _, text in told if '"redirect"' in text]
    return to


def mail(forest: Forest, host: Host) -> None:
    """Makes the root's dispatcher send to that of the host's cluster: data wait for its head."""
    assert forest.root and forest.source
    report = {"say": "backlog", "what": {"child": host.name}}
    forest.hear(forest.root, forest.source, json.dumps(report))


async def live(forest: Forest, until_then: Callable[[], bool]) -> None:
    """Lets some processes look and report that they are alive, and others not."""

    async def turn() -> bool:
        await forest.look()
        await forest.save()
        return until_then()

    await until(turn)


async def test_mail_to_one_that_dies_is_taken_by_its_writer_who_goes_on_for_it() -> None:
    store = MemoryStore()
    here, _ = await process(store, 1)
    source, host = Host(1, source=True), Host(2)
    await here.begin(source.join)
    other, _ = await process(store, 2)
    await here.look()
    cluster = found_cluster(here, host)
    await here.save()
    await other.look()
    await other.save()
    assert (await keys(store, "owners"))[cluster] == other.process
    await here.look()
    mail(here, host)
    await here.save()
    assert len(await keys(store, "mail")) == 1
    await live(here, lambda: here.runs(cluster))
    assert await keys(store, "mail") == {}


async def test_who_loses_a_race_for_what_nobody_runs_still_takes_what_it_was_given() -> None:
    store = MemoryStore()
    giver, _ = await process(store, 1)
    source, host = Host(1, source=True), Host(2)
    await giver.begin(source.join)
    loser, race = await process(store, 2)
    await giver.look()
    cluster = found_cluster(giver, host)
    await giver.save()
    assert (await keys(store, "owners"))[cluster] == loser.process
    mail(giver, host)
    await giver.save()
    assert len(await keys(store, "mail")) == 1
    await store.commit(Transaction({ORPHAN: "somebody who is no more"}))
    race.before = giver.look
    await loser.look()
    assert (await keys(store, "owners"))["ffff"] == giver.process, "which was faster"
    assert loser.runs(cluster)
    await loser.save()
    assert await keys(store, "mail") == {}
    ((_, _, answer),) = loser.hear(cluster, host.name, json.dumps({"say": "join", "what": host.join}))
    assert json.loads(answer)["say"] != "refused"


async def test_the_end_of_a_tree_does_not_clear_the_next_one_away() -> None:
    store = MemoryStore()
    here, _ = await process(store, 1)
    await here.begin(Host(1, source=True).join)
    other, _ = await process(store, 2)
    await store.commit(Transaction({f"{PREFIX}source": None}))
    await other.look()
    await other.begin(Host(2, source=True).join)
    before = await store.items("trees/")
    await here.clear()
    assert await store.items("trees/") == before


@pytest.mark.parametrize(("lease", "dies"), [(3600.0, False), (0.1, True)])
async def test_a_process_is_dead_by_its_own_lease_too(lease: float, dies: bool) -> None:
    store = MemoryStore()
    slow = shares.Shares(store, "", lease)
    await slow.enter("127.0.0.1:1")
    fast = shares.Shares(store, "", 0.1)
    await fast.enter("127.0.0.1:2")
    end = time.monotonic() + 0.3

    async def judged() -> bool:
        await fast.look()
        return slow.me in fast.dead if dies else time.monotonic() > end

    await until(judged)
    assert (slow.me in fast.dead) == dies


async def test_who_did_not_look_takes_nobody_for_dead() -> None:
    store = MemoryStore()
    other, still = shares.Shares(store, "", 0.1), shares.Shares(store, "", 0.1)
    await other.enter("127.0.0.1:1")
    await still.enter("127.0.0.1:2")
    await still.look()
    witness = shares.Shares(store, "", 0.1)
    await witness.enter("127.0.0.1:3")

    async def silent_for_too_long() -> bool:
        await witness.look()
        return {other.me, still.me} <= witness.dead

    await until(silent_for_too_long)
    await still.look()
    assert not still.dead


async def test_only_who_listens_in_the_same_place_is_replaced_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore()

    async def enter() -> shares.Shares:
        found = shares.Shares(store, "", 3600)
        await found.enter("0.0.0.0:26495")
        await found.look()
        return found

    first, again = await enter(), await enter()
    assert again.dead == {first.me}

    def elsewhere(address: str) -> str:
        return f"another machine/{address}"

    monkeypatch.setattr(shares, "place_of", elsewhere)
    assert not (await enter()).dead


async def test_names_of_hosts_that_are_nowhere_are_free_again() -> None:
    store = MemoryStore()
    here, _ = await process(store, 1)
    source, host = Host(1, source=True), Host(2)
    for each in (source, host, Host(3)):
        assert await here.knows(each.name, each.key)
    await here.begin(source.join)
    await here.forget_hosts()
    assert set(await store.items("trees/tree/hosts/")) == {"trees/tree/hosts/1"}
    assert not await here.knows("1", "another") and await here.knows("2", "another")


async def test_the_bound_on_the_delay_outlives_the_process_with_which_the_stream_began() -> None:
    store = MemoryStore()
    here, there = [await Forest.open(store, replace(BRIEF, lease=60), time.monotonic_ns) for _ in range(2)]
    for number, forest in enumerate((here, there)):
        await forest.enter(f"127.0.0.1:{number}")
    await here.begin(Host(1, source=True).join, 12.5)
    await there.look()
    await here.leave()
    await there.look()
    cluster = found_cluster(there, Host(2))
    await there.save()
    state = json.loads(await store.get(f"trees/tree/clusters/{cluster}") or "")
    assert (there.delay_ms, state["policy"]["delay_bound"]) == (12.5, 12_500_000)


async def test_no_line_ends_a_process() -> None:
    """One that is nested so deep that it can just be read."""
    async with lab(2) as subject:
        source = await subject.host(source=True)
        other = next(each for each in subject.processes if not each.service.forest.has_root)
        root = next(each for each in subject.processes if each.service.forest.has_root)
        for depth in range(900, 1000, 3):
            host = Host(0x100 + depth)
            host.lost = [root.address]
            await host.connect(other.service.port)
            nested = "[" * depth + "]" * depth
            line = f'{{"cluster": "{source.cluster}", "joins": 0, "say": "x", "what": {nested}}}\n'
            host.writer.write(line.encode())
            host.writer.close()
        await subject.host()
        await until(subject.attached)


async def test_no_source_ends_a_process() -> None:
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        for depth in range(900, 1000, 3):
            reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
            hello = json.dumps({"hello": {"join": Host(1).join, "key": "", "source": True}})
            nested = "[" * depth + "]" * depth
            writer.write(hello.replace('"capacity":', f'"more": {nested}, "capacity":').encode() + b"\n")
            await reader.readline()
            writer.close()
        assert (await Host(2).connect(service.port)).keys() & {"welcome", "alive"}


async def test_a_host_that_was_in_another_tree_is_told_that_it_has_ended() -> None:
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        source = await Host(1, source=True).enter(service.port)
        for host, code in ((Host(2), "ended"), (Host(3, source=True), "no_tree")):
            host.root = source.cluster[::-1]
            assert (await host.connect(service.port))["refused"]["code"] == code
        host = Host(4)
        host.root = source.cluster
        assert "welcome" in await host.connect(service.port)


@pytest.mark.slow
async def test_a_process_that_stood_still_gives_hosts_time_to_come_back() -> None:
    """They have given it up, and are there again before it goes on."""
    told: list[str] = []
    options = replace(OPTIONS, patience_ms=1000)
    async with Dispatch(options, MemoryStore(), on_event=lambda name, _: told.append(name)) as service:
        hosts = await grove(service, 2)
        async with running(*hosts):
            await until(lambda: settled(service, 3))
        again: list[socket.socket] = []
        for host in hosts:
            before: socket.socket = host.writer.get_extra_info("socket")
            socket.socket(fileno=os.dup(before.fileno())).shutdown(socket.SHUT_RDWR)
            again.append(_say_back(host, service.port))
        stand_still(1.2)
        await until(lambda: "stood_still" in told)

        async def all_back() -> bool:
            # It may stand still once more: the machine has other work.
            if service.connected < 3:
                again.extend([await asyncio.to_thread(_say_back, host, service.port) for host in hosts])
                with suppress(AssertionError):
                    await until(lambda: service.connected == 3, seconds=0.05)
            return service.connected == 3

        await until(all_back)
        assert await names(service) == {host.name for host in hosts}
        for raw in again:
            raw.close()


def stand_still(seconds: float) -> None:
    """Makes a process stand still; no host is served meanwhile."""
    time.sleep(seconds)


def _say_back(host: Host, port: int) -> socket.socket:
    raw = socket.create_connection(("127.0.0.1", port))
    hello: dict[str, Any] = {"join": host.join, "key": host.key, "source": host.source, "lost": []}
    back = {"order": host.order, "attached": True}
    line = {"cluster": host.cluster, "joins": host.joins, "say": "back", "what": back}
    raw.sendall(f"{json.dumps({'hello': hello})}\n{json.dumps(line)}\n".encode())
    return raw


@pytest.mark.slow
async def test_what_waits_when_a_process_is_superseded_is_carried_out_after_it() -> None:
    async with lab(1) as subject:
        source = await subject.grow(2)
        (process,) = subject.processes
        commit, gate, held = process.store.commit, asyncio.Event(), asyncio.Event()

        async def refuse_the_second(transaction: Transaction) -> bool:
            if any(key.startswith("trees/tree/hosts/") for key in transaction.writes):
                return await commit(transaction)
            if held.is_set():
                process.store.commit = commit
                return False
            held.set()
            await gate.wait()
            return await commit(transaction)

        process.store.commit = refuse_the_second
        await held.wait()
        # The first changes something; the second has it stored, which is refused; the look at the store,
        # four times a lease, waits behind it.
        source.say("backlog", {"child": subject.hosts[1].name})
        other = asyncio.create_task(Host(9, source=True).connect(process.service.port))
        due = time.monotonic() + APART.lease
        await until(lambda: time.monotonic() > due)
        gate.set()
        assert "closed" in await other
        assert "superseded" in process.events
        await until(lambda: process.service.connected == 3)
        await subject.store.commit(Transaction({ORPHAN: "somebody who is no more"}))

        async def taken() -> bool:
            return (await subject.stored("owners"))["ffff"] == process.service.forest.process

        await until(taken)


async def test_hosts_of_a_superseded_process_are_told_that_the_tree_has_ended() -> None:
    async with lab(2, APART) as subject:
        source = await subject.grow(4)
        still = next(each for each in subject.processes if not each.service.forest.has_root)
        (other,) = [each for each in subject.processes if each is not still]
        mine = [host for host in subject.hosts if host.sent and host.sent[-1] == still.service.port]
        assert mine
        still.store.awake.clear()

        async def replaced() -> bool:
            return await subject.shares() == {other.address: 5}

        await until(replaced)
        source.say("leave")

        async def over() -> bool:
            return not await subject.stored("owners")

        await until(over)
        mine[0].say("lost", {"order": mine[0].order, "gone": False})
        still.store.awake.set()
        await until(lambda: all(host.ended for host in mine))
        assert "superseded" in still.events or "ended" in still.events


async def one_who_does_not_reach_its_process(subject: Lab) -> tuple[Process, Host, dict[str, Any]]:
    """A process, a host that it admitted and that reports that it cannot reach the process of its cluster,
    and the host's messages when it comes back."""
    await subject.grow(3)
    owners, processes = await subject.stored("owners"), await subject.stored("processes")
    here = subject.processes[0]
    mine = here.service.forest.process
    lost = next(host for host in subject.hosts[1:] if owners[host.cluster] != mine)
    guest = Host(int(lost.name, 16))
    guest.lost = [json.loads(processes[owners[lost.cluster]])["address"]]
    assert "welcome" in await guest.connect(here.service.port)
    guest.cluster = lost.cluster
    return here, guest, {"order": lost.order, "attached": True}


async def test_who_leaves_while_it_waits_for_another_process_ends_none() -> None:
    async with lab(2) as subject:
        here, guest, back = await one_who_does_not_reach_its_process(subject)
        gone = here.events.count("gone")
        here.store.awake.clear()
        guest.say("back", back)
        guest.writer.close()
        # Its death is known before its messages are carried out.
        await until(lambda: here.events.count("gone") > gone)
        here.store.awake.set()
        await subject.host()
        await until(subject.attached)


@pytest.mark.slow
async def test_who_does_not_reach_a_process_that_lives_is_sent_there_again() -> None:
    """Another may have begun in its place."""
    async with lab(2, replace(APART, lease=8)) as subject:
        _, guest, back = await one_who_does_not_reach_its_process(subject)
        guest.say("back", back)
        # It would wait for twice the lease for who goes on for one that is dead.
        async with asyncio.timeout(10):
            while "elsewhere" not in (line := await guest.next()):
                assert "closed" not in line
        assert line["elsewhere"]["at"] in guest.lost
        guest.writer.close()
