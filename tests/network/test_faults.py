"""Failures in the middle of a transfer: the others get the whole file, or the sender reports within 10 s."""

import signal
import time
from collections.abc import Generator

import pytest

from groupflow.agents.errors import AgentError
from groupflow.agents.events import Event
from groupflow.files import variants
from tests.network.harness import MIB, Lab, laboratory, received
from tests.support.waiting import stays

FIG5 = variants.with_members(variants.named("fig5"), 1)
SLOW_FIG5 = variants.with_rate(FIG5, 40_000_000)
"""a file of SIZE takes 5 s: long enough to break something in the middle"""
SIZE = 24 * MIB
TELLING_SECONDS = 10.0


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Generator[Lab]:
    """SLOW_FIG5, shared by the tests that break none of its switches and agents."""
    with laboratory(SLOW_FIG5, tmp_path_factory.mktemp("slow")) as lab:
        yield lab


async def test_a_receiver_is_killed(slow: Lab) -> None:
    async with slow.caches(), slow.transfer(slow.session(), slow.file(SIZE)) as transfer:
        await transfer.until(0.2)
        transfer.receivers["mb1"].signal(signal.SIGKILL)
        outcome = await transfer.outcome()
    assert isinstance(outcome.sender, Event), outcome.sender
    assert outcome.sender.texts("lost") == ("mb1",)
    assert outcome.equal == {"mb1": False, "mc1": True, "md1": True}


async def test_a_receiver_leaves(slow: Lab) -> None:
    async with slow.caches(), slow.transfer(slow.session(), slow.file(SIZE)) as transfer:
        await transfer.until(0.2)
        await transfer.receivers["mc1"].stop()
        outcome = await transfer.outcome()
    assert isinstance(outcome.sender, Event), outcome.sender
    assert outcome.equal == {"mb1": True, "mc1": False, "md1": True}


async def test_every_receiver_is_killed(slow: Lab) -> None:
    async with slow.caches(), slow.transfer(slow.session(), slow.file(SIZE)) as transfer:
        await transfer.until(0.2)
        for receiver in transfer.receivers.values():
            receiver.signal(signal.SIGKILL)
        killed = time.time()
        outcome = await transfer.outcome()
    assert isinstance(outcome.sender, AgentError)
    assert outcome.sender.code in ("no_receivers", "no_acknowledgement"), outcome.sender
    assert outcome.sender_ended - killed <= TELLING_SECONDS


async def test_the_sender_is_killed(slow: Lab) -> None:
    session = slow.session()
    async with slow.caches(), slow.transfer(session, slow.file(SIZE)) as transfer:
        await transfer.until(0.2)
        transfer.sender.signal(signal.SIGKILL)
        outcome = await transfer.outcome()
    for name, end in outcome.receivers.items():
        assert isinstance(end, AgentError), name
        assert end.code == "sender_lost" and "ma1" in str(end), end
    assert not list(slow.folder.glob(f"received-{session.id}-*.bin")), "a part of a file looks like the whole"


@pytest.mark.parametrize(("one", "other"), [("s1", "s2"), ("ma1", "s1"), ("mc1", "s2")])
async def test_a_link_goes_down_and_up(slow: Lab, one: str, other: str) -> None:
    async with slow.caches(), slow.transfer(slow.session(), slow.file(SIZE)) as transfer:
        await transfer.until(0.2)
        slow.network.change_link(one, other, "down")
        before = received(transfer.receivers["mc1"])
        await stays(lambda: received(transfer.receivers["mc1"]) < 0.5 * SIZE + before, "cut off", seconds=1.0)
        slow.network.change_link(one, other, "up")
        outcome = await transfer.outcome()
    outcome.assert_everyone_has_it()


async def test_a_session_is_deleted_while_in_use(slow: Lab) -> None:
    session = slow.session()
    async with slow.caches(), slow.transfer(session, slow.file(SIZE)) as transfer:
        await transfer.until(0.2)
        slow.controller.api.delete_session(session.id)
        outcome = await transfer.outcome(20)
    ends = [outcome.sender, *outcome.receivers.values()]
    assert all(isinstance(end, AgentError) for end in ends)
    assert isinstance(outcome.sender, AgentError)
    assert outcome.sender.code == "session_deleted"
