"""Dispatchers whose process stands still, is replaced, or ends: what is stored, and who may write it."""

import asyncio
import json
import os
import socket
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from groupflow.agents.errors import TreeError
from groupflow.store.interface import MemoryStore
from groupflow.tree.forest import Forest
from groupflow.tree.service import Dispatch
from tests.support.tree import OPTIONS, Host, grove, names, running, settled
from tests.support.waiting import until

ALONE = replace(OPTIONS, threshold_ms=0, max_members=1)
"""options with which each host founds a cluster"""


async def entered(store: MemoryStore) -> Forest:
    forest = await Forest.open(store, ALONE, time.monotonic_ns)
    await forest.enter()
    return forest


def hear(forest: Forest, cluster: str, host: str, say: str, what: object = None) -> list[dict[str, Any]]:
    """The dispatchers' answers to a host's message."""
    line = {"cluster": cluster, "joins": 1, "say": say} | ({} if what is None else {"what": what})
    *_, told = forest.hear(host, json.dumps(line).encode())
    return [json.loads(message.line(1)) for message in told]


async def two_clusters(store: MemoryStore, delay_ms: float | None = None) -> tuple[Forest, str]:
    """A forest whose second cluster is not stored yet, and that cluster."""
    forest = await entered(store)
    source, host = Host(1, source=True), Host(2)
    await forest.begin(source.join, delay_ms)
    assert forest.root
    (probe,) = hear(forest, forest.root, host.name, "join", host.join)
    far = [[peer["host"], 1_000_000] for peer in probe["what"]]
    told = hear(forest, probe["cluster"], host.name, "measured", far)
    (founded,) = [message["what"] for message in told if message["say"] == "redirect"]
    return forest, founded


async def test_all_clusters_of_a_tree_come_back_from_the_store() -> None:
    forest, founded = await two_clusters(store := MemoryStore())
    root = forest.root
    assert root
    await forest.save()
    again = await entered(store)
    assert again.root == root
    told = hear(again, founded, "2", "join", Host(2).join)
    assert any(message["say"] == "place" for message in told), "the founded cluster takes its founder in"


async def test_a_process_that_was_replaced_stores_nothing() -> None:
    forest, founded = await two_clusters(store := MemoryStore())
    await entered(store)
    with pytest.raises(TreeError, match="another process serves the tree"):
        await forest.save()
    assert await store.get(f"trees/tree/clusters/{founded}") is None


async def test_a_service_that_was_replaced_ends() -> None:
    store = MemoryStore()
    with pytest.raises(ExceptionGroup) as ended:
        async with Dispatch(OPTIONS, store) as service:
            await entered(store)
            await Host(1, source=True).connect(service.port)
            await asyncio.Event().wait()
    assert ended.group_contains(TreeError, match="another process serves the tree")


async def test_the_end_of_a_tree_clears_it_from_the_store() -> None:
    forest, _ = await two_clusters(store := MemoryStore())
    await forest.save()
    assert forest.root and len(await store.items("trees/tree/clusters/")) == 2
    hear(forest, forest.root, Host(1).name, "leave")
    assert forest.has_ended
    await forest.save()
    assert forest.root is None
    assert {key.split("/")[2] for key in await store.items("trees/tree/")} <= {"identity", "process"}


async def test_names_of_hosts_that_are_nowhere_are_free_again() -> None:
    here = await entered(store := MemoryStore())
    source, host = Host(1, source=True), Host(2)
    for each in (source, host, Host(3)):
        assert await here.knows(each.name, each.key)
    await here.begin(source.join)
    await here.forget_hosts()
    assert set(await store.items("trees/tree/hosts/")) == {"trees/tree/hosts/1"}
    assert not await here.knows("1", "another") and await here.knows("2", "another")


async def test_the_bound_on_the_delay_outlives_the_process_with_which_the_stream_began() -> None:
    forest, founded = await two_clusters(store := MemoryStore(), 12.5)
    await forest.save()
    again = await entered(store)
    hear(again, founded, "2", "join", Host(2).join)
    told = hear(again, founded, "2", "attached", {"order": 1, "latency": 20_000_000})
    (delay,) = [message["what"] for message in told if message["say"] == "delay"]
    assert (again.delay_ms, delay) == (12.5, {"delay": 20_000_000, "bound": 12_500_000})


async def test_no_line_ends_a_process() -> None:
    """One that is nested so deep that it can just be read."""
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        (source,) = await grove(service, 0)
        async with running(source):
            for depth in range(900, 1000, 3):
                host = Host(0x100 + depth)
                await host.connect(service.port)
                nested = "[" * depth + "]" * depth
                line = f'{{"cluster": "{source.cluster}", "joins": 0, "say": "x", "what": {nested}}}\n'
                host.writer.write(line.encode())
                host.writer.close()
            other = await Host(2).enter(service.port)
            async with running(other):
                await until(lambda: settled(service, 2))


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
                    await until(lambda: service.connected == 3, seconds=0.5)
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
    hello: dict[str, Any] = {"join": host.join, "key": host.key, "source": host.source}
    back = {"order": host.order, "attached": True}
    line = {"cluster": host.cluster, "joins": host.joins, "say": "back", "what": back}
    raw.sendall(f"{json.dumps({'hello': hello})}\n{json.dumps(line)}\n".encode())
    return raw
