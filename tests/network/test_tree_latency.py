"""A tree over links whose delays change while the stream runs."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest

from groupflow.agents.agent_process import AgentProcess
from groupflow.files import variants
from groupflow.lab.trees import Source, Subscriber, address, finish, served
from groupflow.processes import until
from groupflow.tree.options import TreeRecvOptions, TreeSendOptions
from tests.network.harness import MakeLab

TOKEN, SOURCE, NEAR = "c0ffee", "h1", ("h2", "h3")
BOUND_MS = 60
RATE_BPS = 2_000_000


@pytest.mark.parametrize(("threshold_ms", "delay_ms"), [(500, 5), (25, 30)], ids=["member", "head"])
async def test_a_host_moves_when_the_link_of_its_parent_becomes_longer(
    make_lab: MakeLab, threshold_ms: int, delay_ms: int
) -> None:
    """The source serves h2 and h3, and one of them h4, which is in their cluster or the head of its own. That
    one's link becomes longer, and then h4's own. The bound on the delay is the source's."""
    words = ("--review", "2s", "--delay", "1s", "--threshold", f"{threshold_ms}ms")
    star = variants.named("star")
    for name, delay in ((SOURCE, 5), *((near, 5) for near in NEAR), ("h4", delay_ms)):
        delay_ns = delay * 1_000_000
        star = variants.with_link(star, name, "s1", lambda spec, ns=delay_ns: replace(spec, delay_ns=ns))
    async with AsyncExitStack() as stack:
        lab = stack.enter_context(make_lab(star))
        hosts, to = lab.network.hosts, address(lab.network, SOURCE)
        for name in (*NEAR, "h4"):
            # Without a default route they know no router, which they would share.
            gateway = lab.topology.hosts[name].gateway
            hosts[name].run_script(f"ip route add 10.0.0.0/8 via {gateway}; ip route del default")
        service = await stack.enter_async_context(
            served(hosts[SOURCE].launcher(), TOKEN, plain=False, words=words)
        )
        shared: dict[str, Any] = {"to": to, "token": TOKEN, "tls_pin": service.pin, "children": 2}
        options = TreeSendOptions(name=SOURCE, members=3, delay_ms=BOUND_MS, **shared)
        sender = AgentProcess(options, launcher=hosts[SOURCE].launcher(), piped_input=True)
        source = await stack.enter_async_context(sender)
        receivers: dict[str, Subscriber] = {}

        def parent(name: str) -> str:
            progress = receivers[name].latest.get("progress")
            return str(progress.fields["parent"]) if progress else ""

        async def is_below(name: str, *hosts: str) -> bool:
            return await until(lambda: parent(name) in hosts, 60)

        for name in (*NEAR, "h4"):
            receiving = TreeRecvOptions(name=name, start="start", **shared)
            subscriber = Subscriber(receiving, hosts[name].launcher())
            receivers[name] = await stack.enter_async_context(subscriber)
            await subscriber.wait_for("joined")
            # A host that measured while the machine was busy is moved to its place here.
            top = source.latest["joined"].text("host")
            above = [top] if name in NEAR else [receivers[near].host for near in NEAR]
            assert await is_below(name, *above), parent(name)
        stop, stream = asyncio.Event(), Source(source.data_in)
        reading = {each: asyncio.create_task(each.read()) for each in receivers.values()}
        writing = asyncio.create_task(stream.write(RATE_BPS, stop))
        last, near = receivers["h4"], {receivers[name].host: name for name in NEAR}

        async def shown(host: Subscriber) -> dict[str, Any]:
            return next(each for each in (await service.tree())["hosts"] if each["host"] == host.host)

        before = near.pop(parent("h4"))
        lab.network.change_link(before, "s1", "delay=40ms")
        assert await is_below("h4", *near), parent("h4")
        found = await shown(last)
        assert found["delay_ms"] < BOUND_MS and not found["is_beyond"]
        assert found["is_head"] == (delay_ms > threshold_ms)
        lab.network.change_link("h4", "s1", "delay=70ms")

        def is_told() -> bool:
            event = last.latest.get("delay")
            return event is not None and event.fields["beyond"] is True

        assert await until(is_told, 60)
        found = await shown(last)
        assert found["delay_ms"] > BOUND_MS and found["is_beyond"]
        assert (await service.tree())["bound_ms"] == BOUND_MS
        async with asyncio.timeout(30):
            stop.set()
            await source.finish()
            await writing
            for each, task in reading.items():
                await finish(each, task)
    assert last.latest["delay"].fields["bound_ms"] == BOUND_MS
    assert [each.received for each in receivers.values()] == [stream.sent] * 3
