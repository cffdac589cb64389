"""A switch, a cache agent or the controller dies in the middle, in a network of the test's own."""

import signal
import time

import pytest

from groupflow.agents.events import Event
from groupflow.files import variants
from tests.network.harness import MIB, MakeLab, Outcome, eventually

FIG5 = variants.with_members(variants.named("fig5"), 1)
SLOW_FIG5 = variants.with_rate(FIG5, 40_000_000)
"""a file of SIZE takes 5 s: long enough to break something in the middle"""
SIZE = 24 * MIB
TELLING_SECONDS = 10.0


@pytest.mark.parametrize("agent", ["sa1", "sa2"])
async def test_a_cache_agent_is_killed_and_restarted(make_lab: MakeLab, agent: str) -> None:
    topology = variants.with_loss(SLOW_FIG5, 10_000_000)
    with make_lab(topology) as lab:
        async with lab.caches() as caches, lab.transfer(lab.session(), lab.file(SIZE)) as transfer:
            await transfer.until(0.2)
            caches[agent].signal(signal.SIGKILL)
            await transfer.until(0.4)
            async with lab.cache(agent) as again:
                await again.wait_for("joined")
                outcome = await transfer.outcome()
    outcome.assert_everyone_has_it()


@pytest.mark.parametrize("switch", ["s1", "s2"])
async def test_a_switch_is_killed_and_restarted(make_lab: MakeLab, switch: str) -> None:
    with make_lab(SLOW_FIG5) as lab:
        async with lab.caches(), lab.transfer(lab.session(), lab.file(SIZE)) as transfer:
            await transfer.until(0.2)
            lab.network.switches[switch].daemon.kill()
            killed = time.time()
            lab.network.restart(switch)
            outcome = await transfer.outcome()
    assert_delivered_or_told(outcome, killed, switch)


async def test_a_switch_is_killed_for_good(make_lab: MakeLab) -> None:
    with make_lab(SLOW_FIG5) as lab:
        async with lab.caches(), lab.transfer(lab.session(), lab.file(SIZE)) as transfer:
            await transfer.until(0.2)
            lab.network.switches["s2"].daemon.kill()
            killed = time.time()
            outcome = await transfer.outcome(
                80
            )  # a receiver that hears nobody at all gives up after a minute
    if isinstance(outcome.sender, Event):
        assert set(outcome.sender.texts("lost")) == {"mc1", "md1"}
        assert outcome.equal["mb1"]
    else:
        assert_delivered_or_told(outcome, killed, "s2")


async def test_the_controller_is_killed_and_restarted(make_lab: MakeLab) -> None:
    with make_lab(SLOW_FIG5) as lab:
        async with lab.caches(), lab.transfer(lab.session(), lab.file(SIZE)) as transfer:
            await transfer.until(0.2)
            lab.controller.daemon.kill()
            await transfer.until(0.5)  # the data plane goes on without it
            lab.controller.restart()
            outcome = await transfer.outcome()
    outcome.assert_everyone_has_it()


async def test_a_sender_whose_receiver_has_no_room_outlives_the_controller(make_lab: MakeLab) -> None:
    """Nothing is acknowledged for longer than a sender waits for a dead group, but polls are answered."""
    stalls: list[Event] = []
    with make_lab(FIG5) as lab:
        session, file = lab.session(), lab.file(SIZE)
        sending = lab.sender(session, "ma1", file, 1, on_event=stalls.append)
        async with lab.unread(session, "mc1") as unread, sending as sender:
            await sender.wait_for("stalled")
            lab.controller.daemon.kill()
            killed = time.time()

            def stalls_on() -> bool:
                return any(event.name == "stalled" and event.time > killed + 1 for event in stalls)

            await eventually(stalls_on, 30, "the sender goes on")
            lab.controller.restart()
            got = await unread.data_out.read()
            for agent in (sender, unread):
                await agent.finish()
    assert got == file.read_bytes()


async def test_a_restarted_switch_serves_new_sessions(make_lab: MakeLab) -> None:
    with make_lab(FIG5) as lab:
        async with lab.caches():
            lab.network.switches["s2"].daemon.kill()
            lab.network.restart("s2")
            lab.controller.wait_ready()
            async with lab.transfer(lab.session(), lab.file(MIB)) as transfer:
                (await transfer.outcome()).assert_everyone_has_it()


def assert_delivered_or_told(outcome: Outcome, broken: float, culprit: str) -> None:
    """Every receiver has the file, or the sender failed in time and named a switch or a member."""
    if isinstance(outcome.sender, Event):
        outcome.assert_everyone_has_it()
    else:
        assert outcome.sender_ended - broken <= TELLING_SECONDS
        assert any(name in str(outcome.sender) for name in (culprit, *outcome.receivers)), outcome.sender
