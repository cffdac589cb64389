"""The dispatchers' service, with hosts that speak its lines."""

import asyncio
import math
import ssl
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groupflow.agents.errors import TreeError
from groupflow.store.interface import MemoryStore
from groupflow.store.sqlite import SqliteStore
from groupflow.tree.options import DispatchOptions
from groupflow.tree.service import Dispatch
from tests.support.tree import HASTY, OPTIONS, TOKEN, Host, grove, has, names, running, settled
from tests.support.waiting import until


async def test_hosts_are_put_below_each_other() -> None:
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        hosts = await grove(service, 4)
        async with running(*hosts):
            await until(lambda: all(host.parent for host in hosts[1:]))
            parents = [host.parent for host in hosts[1:]]
            assert parents.count("1") == 2, "as many as it takes"
            shown = {host["host"]: host for host in service.forest.hosts()}
            assert [shown[host.name]["parent"] for host in hosts] == [None, *parents]


async def test_a_host_that_leaves_before_there_is_a_source_ends_nothing() -> None:
    events: list[str] = []
    async with Dispatch(OPTIONS, MemoryStore(), on_event=lambda name, _: events.append(name)) as service:
        early = Host(7)
        answer = asyncio.create_task(early.connect(service.port))
        await until(lambda: "connected" in events)
        early.writer.close()
        await answer
        source, host = await grove(service, 1)
        async with running(source, host):
            await until(lambda: "gone" in events and host.parent == "1")


async def test_children_of_one_that_dies_go_elsewhere() -> None:
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        hosts = await grove(service, 4)
        async with running(*hosts[:1], *hosts[3:]), running(*hosts[1:3]):
            await until(lambda: all(host.parent for host in hosts[1:]))
            below = [host for host in hosts[1:] if host.parent != "1"]
            dead = next(host for host in hosts if host.name == below[0].parent)
            dead.writer.transport.abort()
            await until(lambda: all(host.parent != dead.name for host in below))
            assert dead.name not in await names(service)


async def test_one_that_says_nothing_is_gone_after_patience() -> None:
    async with Dispatch(HASTY, MemoryStore()) as service:
        source, silent = await grove(service, 1)
        async with running(source):
            silent.obey(await silent.next())
            silent.obey(await silent.next())
            await until(lambda: has(service, 2))
            await until(lambda: has(service, 1))


async def test_a_service_that_dies_is_replaced_from_the_store(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store")
    async with Dispatch(OPTIONS, store) as service:
        hosts = await grove(service, 3)
        async with running(*hosts):
            await until(lambda: settled(service, 4))
            before = service.forest.hosts()
    await store.close()

    store = await SqliteStore.open(tmp_path / "store")
    async with Dispatch(OPTIONS, store) as again:
        assert again.forest.hosts() == before
        for host in hosts:
            assert (await host.connect(again.port))["welcome"]["root"] == hosts[0].cluster
            host.say("back", {"order": host.order, "attached": True})
        orders = [host.order for host in hosts]
        async with running(*hosts):
            late = await Host(9).enter(again.port)
            async with running(late):
                await until(lambda: late.parent)
            late.writer.transport.abort()
            await until(lambda: has(again, 4))
            assert [host.order for host in hosts] == orders, "nobody was moved"
    await store.close()


@pytest.mark.slow
async def test_a_source_that_does_not_come_back_ends_the_tree() -> None:
    async with Dispatch(HASTY, MemoryStore()) as service:
        source, host = await grove(service, 1)
        async with running(host):
            await until(lambda: host.parent)
            source.writer.transport.abort()
            await until(lambda: any("refused" in line for line in host.told))
        assert host.told[-1]["refused"]["code"] == "ended"
        assert await names(service) == set()


@pytest.mark.slow
async def test_a_source_has_twice_as_long_to_come_to_another_process() -> None:
    store, events = MemoryStore(), list[str]()
    async with Dispatch(HASTY, store) as service:
        await grove(service, 1)
    begun = time.monotonic()
    async with Dispatch(HASTY, store, on_event=lambda name, _: events.append(name)) as again:
        await until(lambda: "ended" in events)
        assert time.monotonic() - begun >= 2 * HASTY.patience
        assert again.forest.root is None


@pytest.mark.parametrize(
    ("host", "code"),
    [
        (Host(7, token="bad"), "wrong_token"),
        (Host(1, key="another"), "wrong_key"),
        (Host(7, source=True), "has_source"),
    ],
)
async def test_who_may_not_be_there_is_refused(host: Host, code: str) -> None:
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        source = await Host(1, source=True).enter(service.port)
        async with running(source):
            assert (await host.connect(service.port))["refused"]["code"] == code
            other = await Host(5).enter(service.port)
            async with running(other):
                await until(lambda: other.parent == "1")


async def test_a_source_may_name_its_own_bound_on_the_delay() -> None:
    for named, bound in ((None, 50.0), (20, 20.0)):
        async with Dispatch(replace(OPTIONS, delay_ms=50.0), MemoryStore()) as service:
            source = Host(1, source=True)
            source.delay_ms = named
            async with running(await source.enter(service.port)):
                assert service.forest.delay_ms == bound


@pytest.mark.parametrize("named", [0, -1, 1e9, math.nan, True, "x", [1]])
async def test_a_bound_that_is_no_time_is_refused(named: object) -> None:
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        source = Host(1, source=True)
        source.delay_ms = named
        assert (await source.connect(service.port))["refused"]["code"] == "bad_message"
        assert service.forest.source is None


@pytest.mark.parametrize(
    "line",
    [
        b"x\n",
        b"[]\n",
        b'{"say": "alive"}\n',
        b'{"cluster": "zz", "joins": 1, "say": "alive"}\n',
        b'{"cluster": "1", "joins": 1, "say": "rubbish"}\n',
        b'{"cluster": "1", "joins": "x", "say": "alive"}\n',
        b'{"cluster": "1", "joins": 1e999, "say": "alive"}\n',
        b"[" * 60_000 + b"\n",
        b'{"cluster": "1", "joins": 1, "say": "leave", "what": "\\ud800"}\n',
        b'{"cluster": "\\ud800", "joins": 1, "say": "alive"}\n',
        b"x" * 70_000 + b"\n",
    ],
)
async def test_what_makes_no_sense_costs_its_host_the_connection_and_nobody_else(line: bytes) -> None:
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        source, good, bad = await grove(service, 2)
        async with running(source, good):
            await until(lambda: good.parent)
            bad.writer.write(line)
            while "refused" not in (answer := await bad.next()) and "closed" not in answer:
                pass
            assert answer["refused"]["code"] == "bad_message"
            assert "\n" not in answer["refused"]["text"]
            good.told.clear()
            good.say("lost", {"order": good.order, "gone": False})
            await until(lambda: any(line.get("say") == "place" for line in good.told))


@pytest.mark.parametrize("name", ["zzz", "0a", "\ud800", "A", "", "12345678901234567", 5, None])
async def test_a_host_has_one_name_and_it_is_a_number(name: Any) -> None:
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        source, good = await grove(service, 1)
        async with running(source, good):
            bad = Host(9)
            bad.join = bad.join | {"peer": {"host": name, "address": "127.0.0.1:4009"}}
            assert (await bad.connect(service.port))["refused"]["code"] == "bad_message"
            await until(lambda: settled(service, 2))


@pytest.mark.parametrize("line", [b"[" * 60_000 + b"\n", b'{"hello": []}\n', b'{"hello": {"join": 1}}\n'])
async def test_what_a_stranger_says_costs_nobody_else_anything(line: bytes) -> None:
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        source, good = await grove(service, 1)
        async with running(source, good):
            reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
            writer.write(line)
            assert b"bad_message" in await reader.readline()
            writer.close()
            await until(lambda: settled(service, 2))


async def test_hosts_know_the_service_by_its_certificate_and_are_given_it() -> None:
    events: list[tuple[str, dict[str, Any]]] = []
    options = DispatchOptions(token=TOKEN, listen=("127.0.0.1", 0))
    async with Dispatch(
        options, MemoryStore(), on_event=lambda name, fields: events.append((name, fields))
    ) as service:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        source = Host(1, source=True)
        welcome = (await source.connect(service.port, context))["welcome"]
        assert source.writer.get_extra_info("ssl_object").version() == "TLSv1.3"
        assert service.forest.identity
        assert welcome["identity"]["certificate"] == service.forest.identity.certificate
        assert events[0][1]["tls_pin"] == service.forest.identity.pin
        source.writer.transport.abort()


async def test_an_address_that_is_taken_is_one_clear_line() -> None:
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        taken = DispatchOptions(token=TOKEN, listen=("127.0.0.1", service.port))
        with pytest.raises(TreeError, match=r"cannot listen at .*; choose another with --listen"):
            async with Dispatch(taken, MemoryStore()):
                pass


async def test_strangers_who_hold_all_places_keep_no_host_out() -> None:
    """They connect and say nothing; that they are given up after some seconds would be too late."""
    async with Dispatch(OPTIONS, MemoryStore()) as service:
        service.bound(4)
        where = ("127.0.0.1", service.port)
        strangers = [await asyncio.open_connection(*where, local_addr=("127.0.0.2", 0)) for _ in range(9)]
        await until(lambda: sum(reader.at_eof() for reader, _ in strangers) >= 5)
        hosts = await grove(service, 2)
        async with running(*hosts):
            await until(lambda: has(service, 3))
        late = [await asyncio.open_connection(*where, local_addr=("127.0.0.2", 0)) for _ in range(4)]
        assert service.connected == 3, "hosts that have shown the token give way to nobody"
        for _, writer in (*strangers, *late):
            writer.close()
