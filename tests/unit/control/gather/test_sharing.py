"""Targets and priorities of receivers in sessions that isolate: shares, orders to agents, and their end."""

import asyncio
from typing import Any

import pytest

from groupflow.control.caching import Share
from groupflow.control.gather import sharing
from groupflow.control.gather.policies import Untuned
from groupflow.control.gather.sharing import ANSWER_S, REPEAT_ROUNDS
from groupflow.control.sessions.admission import USABLE
from groupflow.control.sessions.model import RefusalError
from groupflow.files.forms import Refused
from groupflow.store.interface import StoreError, Transaction
from tests.support.waiting import until
from tests.support.wire import Received
from tests.support.world import TOPOLOGY, FakeHost, World, world

MBIT = 1_000_000
LINK = 10 * MBIT * USABLE
"""what the link of h2 has for receivers"""


async def group(w: World, **settings: Any) -> tuple[FakeHost, FakeHost, FakeHost]:
    """c1 caches; h1 sends to two receivers on h2, members 2 and 3."""
    agent = w.host("c1", 5500)
    await agent.register()
    await w.session(7, **{"policy": "isolate", **settings})
    await w.host("h1").join(7, "sender")
    for port in (5000, 5001):
        await w.host("h2", port).join(7)
    return agent, w.host("h2", 5000), w.host("h2", 5001)


async def want(w: World, member: int, **targets: Any) -> None:
    await w.running.sharing.change(7, member, **targets)


def rates(w: World) -> dict[int, float]:
    """Shares of the link of h2, by member, after a round."""
    w.running.sharing.round()
    return {member: share.rate / LINK for (_, member), share in w.running.caching.shares.items()}


async def slow(agent: FakeHost, *members: int) -> None:
    for member in members:
        await agent.call("report", kind="slow", session=7, source=1, about=member)


def orders(agent: FakeHost) -> list[Received]:
    return [reply for reply in agent.received if reply.kind == "delegated"]


async def test_targets_of_high_priority_are_met_first_and_told_to_the_agent() -> None:
    async with world() as w:
        agent, *_ = await group(w)
        assert rates(w) == {}, "nobody has a target"
        await want(w, 2, target=6 * MBIT, priority=1)
        await want(w, 3, target=6 * MBIT, minimum=1 * MBIT)
        await slow(agent, 2)
        assert rates(w) == pytest.approx({2: 6 * MBIT / LINK, 3: 1 - 6 * MBIT / LINK}, rel=0.01)
        await w.settle()
        told = orders(agent)[-1].shares
        assert told == {("10.0.1.2", 5000): w.running.caching.shares[7, 2]}, "3 gets the group's copies"
        await slow(agent, 3)
        await w.settle()
        told = orders(agent)[-1].shares
        assert told["10.0.1.2", 5001] == w.running.caching.shares[7, 3]
        window = told["10.0.1.2", 5000][1]
        assert window == pytest.approx(6 * MBIT * ANSWER_S / 8, rel=0.01), "eq. 1"
        await want(w, 3, priority=2)
        await want(w, 2, minimum=2 * MBIT)
        assert rates(w) == pytest.approx({3: 6 * MBIT / LINK, 2: 1 - 6 * MBIT / LINK}, rel=0.01)


async def test_a_surplus_goes_by_target_and_a_receiver_without_target_comes_last() -> None:
    async with world() as w:
        await group(w)
        await want(w, 2, target=2 * MBIT)
        await want(w, 3, target=4 * MBIT)
        assert rates(w) == pytest.approx({2: 1 / 3, 3: 2 / 3}, rel=0.01)
        await want(w, 2, target=None)
        await want(w, 3, target=9 * MBIT)
        assert rates(w)[3] == pytest.approx(9 * MBIT / LINK, rel=0.01)
        await want(w, 3, target=None)
        assert rates(w) == {}


async def test_a_link_too_slow_for_a_packet_each_is_divided_all_the_same() -> None:
    async with world(TOPOLOGY.replace("[h2, s1], rate: 10mbit", "[h2, s1], rate: 40kbit")) as w:
        await group(w)
        await want(w, 2, target=20_000, priority=1)
        w.running.sharing.round()
        assert w.running.sharing.problem is None
        assert {member for _, member in w.running.caching.shares} == {2, 3}


async def test_receivers_of_all_sessions_share_a_link_until_they_have_everything() -> None:
    async with world() as w:
        _, one, _ = await group(w)
        await w.session(8, policy="isolate")
        await w.host("h1", 6000).join(8, "sender")
        await w.host("h2", 6001).join(8)
        for session, member in ((7, 2), (7, 3), (8, 2)):
            await w.running.sharing.change(session, member, target=1 * MBIT)
        w.running.sharing.round()
        assert len({share.rate for share in w.running.caching.shares.values()}) == 1
        one.member, one.session = 2, 7
        await one.call("report", kind="complete", source=1)
        w.running.sharing.round()
        assert {who: share.rate / LINK for who, share in w.running.caching.shares.items()} == pytest.approx(
            {(7, 3): 0.5, (8, 2): 0.5}, rel=0.01
        )


async def test_a_receiver_of_two_streams_divides_its_share() -> None:
    async with world() as w:
        agent, *_ = await group(w)
        await w.host("h1", 6000).join(7, "sender")
        await want(w, 2, target=4 * MBIT)
        await slow(agent, 2)
        w.running.sharing.round()
        await w.settle()
        share = w.running.caching.shares[7, 2]
        whole = [order.shares["10.0.1.2", 5000] for order in orders(agent) if order.shares][-1]
        assert whole == share, "the other stream comes as the group's copies"
        await agent.call("report", kind="slow", session=7, source=4, about=2)
        w.running.sharing.round()
        await w.settle()
        share = w.running.caching.shares[7, 2]
        of_stream = {order["source"]: order.shares["10.0.1.2", 5000] for order in orders(agent)[-2:]}
        assert of_stream == dict.fromkeys((1, 4), Share(share.rate // 2, share.bytes // 2))


async def test_the_agents_own_link_is_divided_among_isolated_receivers() -> None:
    text = TOPOLOGY.replace("[c1, s1], rate: unlimited", "[c1, s1], rate: 4mbit")
    async with world(text) as w:
        agent, *_ = await group(w)
        for member in (2, 3):
            await want(w, member, target=3 * MBIT)
        assert sum(rates(w).values()) == pytest.approx(1, rel=0.01)
        await slow(agent, 2, 3)
        assert sum(rates(w).values()) == pytest.approx(0.4, rel=0.01)


async def repeated(w: World, agent: FakeHost) -> Received:
    """The last order, which is given again within REPEAT_ROUNDS: it may have been lost."""
    before = len(orders(agent))
    for _ in range(REPEAT_ROUNDS):
        w.running.sharing.round()
    await w.settle()
    assert len(orders(agent)) > before
    return orders(agent)[-1]


async def test_orders_are_repeated_and_withdrawn_with_the_policy() -> None:
    async with world() as w:
        agent, *_ = await group(w)
        await want(w, 2, target=4 * MBIT)
        await slow(agent, 2)
        w.running.sharing.round()
        await w.settle()
        assert (await repeated(w, agent)).shares
        await w.running.manager.change(7, policy="strict")
        assert rates(w) == {}
        await w.settle()
        assert orders(agent)[-1].shares == {}
        w.running.caching.bound("c1", 5000)
        await w.settle()
        told = await repeated(w, agent)
        assert (told.shares, told["max_bytes"]) == ({}, 5000)


async def test_a_share_of_a_fast_link_is_within_its_field() -> None:
    async with world(TOPOLOGY.replace("[h2, s1], rate: 10mbit", "[h2, s1], rate: 100gbit")) as w:
        agent, *_ = await group(w)
        await want(w, 2, target=1 * MBIT)
        await want(w, 3, target=1000)
        await slow(agent, 2, 3)
        w.running.sharing.round()
        await w.settle()
        rate, waiting = orders(agent)[-1].shares["10.0.1.2", 5000]
        assert rate == pytest.approx(100e9 * USABLE, rel=0.01) and waiting == 2**32 - 1


async def test_a_round_that_fails_is_told_and_the_next_one_divides(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sharing, "ROUND_S", 0.001)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    async with world() as w:
        await group(w)
        await want(w, 2, target=6 * MBIT)
        with monkeypatch.context() as patch:
            patch.setattr(w.running.caching, "announce", broken)
            await until(lambda: "ZeroDivisionError" in (w.running.sharing.problem or ""))
        await until(lambda: w.running.sharing.problem is None)
        assert "a round failed" in caplog.text


async def test_targets_outlive_controllers_and_a_receivers_restart() -> None:
    async with world() as w:
        agent, one, _ = await group(w)
        await want(w, 2, target=6 * MBIT, minimum=1 * MBIT, priority=3)
        before = rates(w)
        await w.stop()
        await w.start()
        assert rates(w) == before
        for _ in range(REPEAT_ROUNDS):
            w.running.sharing.round()
        await w.settle()
        await slow(agent, 2)
        await w.settle()
        assert ("10.0.1.2", 5000) in orders(agent)[-1].shares
        await one.join(7)
        member = w.running.manager.get(7).members[2]
        assert (member.target, member.minimum, member.priority) == (6 * MBIT, 1 * MBIT, 3)


def first_commit_waits(w: World, patch: pytest.MonkeyPatch) -> tuple[asyncio.Event, asyncio.Event]:
    """Set when the next commit has begun, and to let it go on."""
    begun, go_on, commit = asyncio.Event(), asyncio.Event(), w.store.commit

    async def slowly(writes: Transaction) -> bool:
        first = not begun.is_set()
        begun.set()
        if first:
            await go_on.wait()
        return await commit(writes)

    patch.setattr(w.store, "commit", slowly)
    return begun, go_on


async def test_a_target_that_is_set_while_its_receiver_joins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world() as w:
        _, one, _ = await group(w)
        begun, go_on = first_commit_waits(w, monkeypatch)
        joining = asyncio.create_task(one.join(7))
        await begun.wait()
        await want(w, 2, target=6 * MBIT)
        go_on.set()
        assert (await joining).kind == "joined"
        assert w.running.manager.get(7).members[2].target == 6 * MBIT


async def test_a_target_is_stored_first_and_undoes_nothing_that_happens_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with world() as w:
        _, one, _ = await group(w)
        begun, go_on = first_commit_waits(w, monkeypatch)
        wanting = asyncio.create_task(want(w, 2, target=6 * MBIT))
        await begun.wait()
        assert w.running.manager.get(7).members[2].target is None
        one.member, one.session = 2, 7
        await one.call("report", kind="complete", source=1)
        go_on.set()
        await wanting
        for _ in range(2):  # at once, and after a restart
            member = w.running.manager.get(7).members[2]
            assert (member.target, member.complete) == (6 * MBIT, {1})
            await w.stop()
            await w.start()

        async def fail(_: Transaction) -> bool:
            raise StoreError("groupflow.db: disk is full")

        monkeypatch.setattr(w.store, "commit", fail)
        with pytest.raises(StoreError):
            await want(w, 2, target=None)
        assert w.running.manager.get(7).members[2].target == 6 * MBIT


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"minimum": MBIT}, "minimum_bps: h2 has no target; give it a target too"),
        ({"priority": 1}, "priority: h2 has no target; give it a target too"),
        ({"target": None, "priority": 1}, "priority: h2 has no target"),
    ],
)
async def test_what_needs_a_target_is_refused_without_one(wanted: dict[str, Any], message: str) -> None:
    async with world() as w:
        await group(w)
        with pytest.raises(Refused, match=message):
            await want(w, 2, **wanted)


async def test_a_rate_is_measured_between_reports() -> None:
    async with world() as w:
        _, one, _ = await group(w)
        one.member, one.session = 2, 7
        for position in (1, 1, 501):
            one.next = position
            w.running.sharing.round()
            await w.advance(1.0, alive=(one,))
        w.running.sharing.round()
        assert w.running.sharing.rates[7, 2] == pytest.approx(500 * 1448 * 8, rel=0.01)


async def test_no_rate_is_measured_from_an_unknown_position_or_time() -> None:
    async with world() as w:
        agent, one, _ = await group(w)
        one.member, one.session = 2, 7
        sender = w.host("h1")
        sender.member, sender.session = 1, 7

        async def at(position: int) -> None:
            one.next = position
            await w.advance(1.0, alive=(agent, sender, one))
            w.running.sharing.round()

        w.running.sharing.round()
        await at(1_000_000)
        assert w.running.sharing.rates == {}, "it joined in mid-stream"
        await at(1_000_500)
        assert w.running.sharing.rates[7, 2] == pytest.approx(500 * 1448 * 8, rel=0.01)
        await one.join(7)
        w.running.sharing.round()
        await at(2_000_000)
        assert w.running.sharing.rates == {}, "it is another process"
        w.running.manager.presence.excuse((7, 2), 30)
        w.running.sharing.round()
        await at(2_000_500)
        assert w.running.sharing.rates == {}, "it could not report meanwhile"
        await at(2_001_000)
        assert w.running.sharing.rates[7, 2] == pytest.approx(500 * 1448 * 8, rel=0.01)


async def test_a_policy_that_fails_or_tunes_nothing() -> None:
    async with world() as w:
        await group(w)
        await want(w, 2, target=6 * MBIT)
        before = rates(w)
        policies: dict[str, Any] = {"broken": object(), "none": Untuned()}
        w.running.gathering.policies = {**w.running.gathering.policies, **policies}
        await w.running.gathering.configure(policy="broken")
        assert rates(w) == before
        assert "the policy failed" in (w.running.sharing.problem or "")
        await w.running.gathering.configure(policy="none")
        assert rates(w) == {} and w.running.sharing.problem is None


@pytest.mark.parametrize(
    ("host", "settings", "member", "target", "message"),
    [
        ("h2", {}, 1, 1 * MBIT, "session 7 has no receiver 1; list its members"),
        ("h2", {}, 99, 1 * MBIT, "session 7 has no receiver 99; list its members"),
        ("h2", {"policy": "strict"}, 4, 1 * MBIT, "set its policy to isolate first"),
        ("h4", {}, 4, 1 * MBIT, "no cache agent beside s3 can feed h4; give the switch one"),
        ("h2", {}, 4, 10 * MBIT, "target_bps: 10mbit is beyond the link's"),
        ("c2", {}, 4, 1 * MBIT, "the link of c2 has no rate to divide; give it one in the topology"),
    ],
)
async def test_a_target_that_cannot_be_is_refused(
    host: str, settings: dict[str, str], member: int, target: int, message: str
) -> None:
    async with world() as w:
        await group(w, **settings)
        await w.host(host, 7000).join(7)
        with pytest.raises((RefusalError, Refused), match=message):
            await want(w, member, target=target)
        if member == 4:
            answer = await w.host(host, 7001).join(7, target=target)
            assert (answer.kind, message in answer.text) == ("refused", True), answer


async def test_a_receiver_states_its_target_when_it_joins() -> None:
    async with world() as w:
        await group(w)
        host = w.host("h2", 7000)
        member = (await host.join(7, target=4 * MBIT))["member"]
        assert w.running.manager.get(7).members[member].target == 4 * MBIT
        await want(w, member, target=2 * MBIT)
        await host.join(7, start="resume", target=4 * MBIT)
        assert w.running.manager.get(7).members[member].target == 2 * MBIT, "what was set later holds"
        host.member = 0
        await host.join(7, target=3 * MBIT)
        assert w.running.manager.get(7).members[host.member].target == 3 * MBIT
