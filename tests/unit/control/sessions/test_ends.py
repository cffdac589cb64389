"""A member that has missed something is told at its next keepalive, and none holds a stream for ever."""

import pytest

from groupflow.control.sessions.post import REPEATS
from groupflow.control.sessions.watchdog import HOLD_SECONDS
from tests.support.world import FakeHost, World, world
from tests.unit.control.sessions.test_faults import group

pytestmark = pytest.mark.slow


async def test_a_receiver_learns_that_its_sender_left_though_the_notice_was_lost() -> None:
    async with world() as w:
        sender, receiver, _ = await group(w)
        assert (await receiver.call("keepalive", source=sender.member, next=5))["sources"] == 1
        await sender.call("leave")
        assert (await receiver.call("keepalive", source=sender.member, next=5))["sources"] == 0
        again = w.host("h4")
        await again.join(7, "sender")
        assert (await receiver.call("keepalive", source=sender.member, next=5))["sources"] == 0
        assert (await receiver.call("keepalive", next=0))["sources"] == 1


async def test_a_receiver_that_resumes_a_stream_that_has_ended_is_given_none() -> None:
    async with world() as w:
        sender, receiver, other = await group(w)
        await w.advance(4, alive=(sender, other))
        assert (await receiver.call("keepalive")).kind == "unknown"
        resumed = await receiver.join(7, start="resume", seq=9, source=sender.member)
        assert (resumed["source"], resumed["start_seq"]) == (sender.member, 9)
        await sender.call("leave")
        resumed = await receiver.join(7, start="resume", seq=9, source=sender.member)
        assert (resumed.kind, resumed["source"]) == ("joined", 0)
        new = w.host("h4", 7000)
        refused = await new.join(7, source=sender.member)
        assert refused.kind == "refused"


async def test_a_notice_is_repeated_at_the_next_keepalives() -> None:
    async with world() as w:
        sender, silent, other = await group(w)
        await w.advance(4, alive=(sender, other))
        lost = ("lost", silent.member, 1)
        told = sender.notices().count(lost)
        for _ in range(2 * REPEATS):
            await sender.call("keepalive")
        assert (told, sender.notices().count(lost)) == (1, 1 + REPEATS)
        await silent.join(7)
        sender.received.clear()
        await sender.call("keepalive")
        assert sender.notices()[-1][:2] == ("joined", silent.member), "the newest about a member counts"


async def hold(w: World, sender: FakeHost, holder: FakeHost, seconds: float) -> None:
    for _ in range(int(seconds)):
        w.clock.now += 1
        await sender.call("keepalive", next=100)
        if holder.member in w.running.manager.get(7).members:
            await holder.call("keepalive", source=sender.member, next=holder.next)
        await w.running.watchdog.sweep()


async def test_a_receiver_that_acknowledges_nothing_is_put_out() -> None:
    async with world() as w:
        sender, holder, _ = await group(w)
        holder.next = 50
        await hold(w, sender, holder, HOLD_SECONDS - 2)
        assert holder.member in w.running.manager.get(7).receivers
        await hold(w, sender, holder, 3)
        await w.settle()
        assert holder.member not in w.running.manager.get(7).receivers
        assert ("lost", holder.member) in [notice[:2] for notice in sender.notices()]
        told = await holder.call("keepalive", source=sender.member, next=50)
        assert (told.kind, told.word, told["about"]) == ("notice", "lost", holder.member)
        assert "acknowledged nothing for 60 s" in told.text


@pytest.mark.parametrize("place", [100, 0], ids=["has everything", "has not begun"])
async def test_a_receiver_that_holds_nothing_stays(place: int) -> None:
    async with world() as w:
        sender, receiver, _ = await group(w)
        receiver.next = place
        await hold(w, sender, receiver, 2 * HOLD_SECONDS)
        assert receiver.member in w.running.manager.get(7).receivers


@pytest.mark.parametrize(
    ("reason", "complete", "what"),
    [("done", False, "left"), ("aborted", False, "lost"), ("aborted", True, "left")],
)
async def test_a_receiver_that_leaves_before_it_has_everything_is_lost(
    reason: str, complete: bool, what: str
) -> None:
    async with world() as w:
        sender, receiver, _ = await group(w)
        if complete:
            await receiver.call(
                "report", kind="complete", source=sender.member, about=receiver.member, value=9
            )
        await receiver.call("leave", reason=reason)
        await w.settle()
        assert sender.notices()[-1][:2] == (what, receiver.member)


async def test_a_session_that_is_made_again_puts_nobody_out() -> None:
    async with world() as w:
        sender, holder, _ = await group(w)
        holder.next = 50
        await hold(w, sender, holder, HOLD_SECONDS + 1)
        assert (7, holder.member) in w.running.watchdog.put_out
        await w.running.manager.delete(7)
        sender, again, _ = await group(w)
        assert again.member == holder.member
        await w.advance(4, alive=(sender,))
        assert (await again.call("keepalive")).kind == "unknown", "lost, not put out"


async def test_nothing_is_kept_of_members_that_have_gone() -> None:
    async with world() as w:
        sender, receiver, _ = await group(w)
        await receiver.call("leave")
        await sender.call("keepalive")
        kept = w.running.control._post._sent  # pyright: ignore[reportPrivateUsage]
        assert {member for _, member in kept} >= {sender.member}
        await w.running.manager.delete(7)
        assert kept == {}
