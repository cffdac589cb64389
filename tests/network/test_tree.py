"""A clustered tree of hosts around a P4 switch: hosts that serve others die while the stream runs."""

import asyncio
import secrets
import signal
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest

from experiments.tree import repair
from groupflow.agents.agent_process import AgentProcess
from groupflow.files import variants
from groupflow.lab.trees import Source, Subscriber, address, served
from groupflow.processes import until
from groupflow.tree.options import TreeRecvOptions, TreeSendOptions
from tests.network.harness import Lab, MakeLab, undisturbed

PATIENCE_S = 30.0
WITH_LOSSES_S = 2.0
"""s; messages of a repair get lost, too, each at the cost of TCP's least timeout, 0.2 s: four are rare"""


@pytest.mark.alone
@pytest.mark.parametrize(
    ("death", "plain", "loss", "limit"),
    [
        ("killed", False, 0, repair.LIMIT_S),
        ("killed", True, 0, repair.LIMIT_S),
        ("killed", False, 10_000_000, WITH_LOSSES_S),
        ("silent", False, 0, repair.LIMIT_S),
        ("head", False, 0, repair.LIMIT_S),
    ],
    ids=["tls", "plain", "tls with losses", "silent", "head of a cluster"],
)
async def test_hosts_whose_parent_dies_go_on_within_a_second_and_miss_no_byte(
    make_lab: MakeLab, death: repair.Death, plain: bool, loss: int, limit: float
) -> None:
    async def measure() -> list[repair.Repair]:
        # Every byte is checked as it comes, and all of them are counted in the end.
        return await repair.measure(lab.network, 2, plain=plain, death=death)

    with make_lab(variants.with_loss(variants.named("star"), loss)) as lab:
        repairs = await undisturbed(lab, measure)
    assert [found.orphans > 0 for found in repairs] == [True, True]
    assert max(found.seconds for found in repairs) < limit


SLOW = "h5"
SUBSCRIBERS = ("h2", "h3", "h4", "h2", "h3", SLOW)
"""hosts of the star, of which the last has a slow link"""
RATE_BPS, SLOW_BPS = 2_000_000, 1_000_000


async def test_a_slow_and_a_killed_subscriber_cost_the_others_nothing(make_lab: MakeLab) -> None:
    star = variants.with_link(
        variants.named("star"), SLOW, "s1", lambda spec: replace(spec, rate=SLOW_BPS, queue=50)
    )
    with make_lab(star) as lab:
        fast, slow = await undisturbed(lab, lambda: rates(lab))
    assert fast > 0.9 * RATE_BPS > 1.5 * slow


async def rates(lab: Lab) -> tuple[float, float]:
    """Bits per second, after a host was killed, of the slowest on a fast link and of that on the slow one."""
    async with AsyncExitStack() as stack:
        at = {name: host.launcher() for name, host in lab.network.hosts.items()}
        token, to = secrets.token_hex(16), address(lab.network, repair.SOURCE)
        await stack.enter_async_context(served(at[repair.SOURCE], token, plain=True))
        shared: dict[str, Any] = {"to": to, "token": token, "slow": "isolate"}
        sending = TreeSendOptions(name=repair.SOURCE, members=len(SUBSCRIBERS), **shared)
        source = AgentProcess(sending, launcher=at[repair.SOURCE], piped_input=True)
        await stack.enter_async_context(source)
        hosts: list[Subscriber] = []
        for number, name in enumerate(SUBSCRIBERS):
            receiving = TreeRecvOptions(name=f"{name}-{number}", start="start", **shared)
            hosts.append(await stack.enter_async_context(Subscriber(receiving, at[name])))
            await hosts[-1].wait_for("joined")
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        stream, stop = Source(source.data_in), asyncio.Event()
        running = [tasks.create_task(host.read()) for host in hosts]
        running.append(tasks.create_task(stream.write(RATE_BPS, stop)))
        *fast, slow = hosts

        def least() -> int:
            return min(host.received for host in fast)

        assert await until(lambda: least() >= RATE_BPS // 8 * 3, PATIENCE_S), "three seconds of the stream"
        victim = max(fast, key=lambda host: len(host.children))
        fast.remove(victim)
        victim.signal(signal.SIGKILL)
        began, before, slow_before = time.monotonic(), least(), slow.received
        assert await until(lambda: least() >= before + RATE_BPS // 8 * 3, PATIENCE_S)
        took = time.monotonic() - began
        found = 8 * (least() - before) / took, 8 * (slow.received - slow_before) / took
        stop.set()
        assert await until(lambda: least() >= stream.sent, PATIENCE_S), "none lacks a byte"
        for task in running:
            task.cancel()
        await AgentProcess.stop_all([source, slow, *fast])
        return found
