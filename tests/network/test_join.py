"""Joining: the time until the first data, and the data that a late member gets."""

import asyncio
import statistics
from pathlib import Path

import pytest

from groupflow import Session
from groupflow.files import variants
from tests.network.harness import MIB, Lab, MakeLab, eventually, received, sha256

JOIN_SECONDS = 0.050


@pytest.mark.alone
async def test_first_data_comes_within_50_ms(make_lab: MakeLab) -> None:
    """A stream of a packet a millisecond; members come one by one. Links of 1 ms: the rest is our doing."""
    with make_lab(variants.named("star")) as lab:
        session = lab.session()
        stop = asyncio.Event()
        async with lab.caches(), lab.receiver(session, "h2", output=Path("/dev/null")) as first:
            await first.wait_for("joined")
            sending = asyncio.create_task(_trickle(lab, session.id, session.token, stop))
            await first.wait_for("started")
            seconds: list[float] = []
            for _ in range(5):
                async with lab.receiver(session, "h3", output=Path("/dev/null")) as late:
                    seconds.append((await late.wait_for("started")).number("seconds"))
            stop.set()
            await sending
    assert statistics.median(seconds) < JOIN_SECONDS, seconds


async def _trickle(lab: Lab, session: int, token: str, stop: asyncio.Event) -> None:
    launcher = lab.network.hosts["h1"].launcher()
    async with Session(session, role="sender", token=token, name="h1", launcher=launcher) as sender:
        while not stop.is_set():
            await sender.send(bytes(1448))
            await asyncio.sleep(0.001)


async def test_a_late_member_gets_all_from_the_start_out_of_the_caches(make_lab: MakeLab) -> None:
    topology = variants.with_rate(variants.with_members(variants.named("fig5"), 1), 40_000_000)
    with make_lab(topology) as lab:
        session, file = lab.session(), lab.file(16 * MIB)
        async with lab.caches(), lab.transfer(session, file, receivers=["mb1", "mc1"]) as transfer:
            await transfer.until(0.3)
            async with lab.receiver(session, "md1", start="start") as late:
                outcome = await transfer.outcome()
                outcome.assert_everyone_has_it()
                async with asyncio.timeout(30):
                    await late.finish()
        assert sha256(lab.output(session, "md1")) == sha256(file)


async def test_a_late_member_gets_the_rest_from_now_on(make_lab: MakeLab) -> None:
    topology = variants.with_rate(variants.with_members(variants.named("fig5"), 1), 40_000_000)
    with make_lab(topology) as lab:
        session, file = lab.session(), lab.file(16 * MIB)
        async with lab.caches(), lab.transfer(session, file, receivers=["mb1", "mc1"]) as transfer:
            await transfer.until(0.3)
            async with lab.receiver(session, "md1") as late:
                (await transfer.outcome()).assert_everyone_has_it()
                async with asyncio.timeout(30):
                    await late.finish()
        got, all_of_it = lab.output(session, "md1").read_bytes(), file.read_bytes()
    assert 0 < len(got) < 0.8 * len(all_of_it)
    assert all_of_it.endswith(got)


async def test_a_member_that_leaves_and_comes_again_is_a_member_again(pair: Lab) -> None:
    session = pair.session()
    for _ in range(3):
        async with pair.receiver(session, "mb1") as agent:
            await agent.wait_for("joined")
    async with pair.caches(), pair.transfer(session, pair.file(MIB), receivers=["mb1"]) as transfer:
        await eventually(lambda: received(transfer.receivers["mb1"]) > 0, 10, "data arrives")
        (await transfer.outcome()).assert_everyone_has_it()
