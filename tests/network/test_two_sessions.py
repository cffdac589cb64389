"""Two sessions at once, with different senders, and members in both."""

import asyncio
import signal

import pytest

from groupflow.agents.errors import AgentError
from tests.network.harness import MIB, Lab


async def test_a_member_of_both_gets_both_files(pair: Lab) -> None:
    one, two = pair.session(), pair.session("n2n")
    first, second = pair.file(4 * MIB, seed=1), pair.file(3 * MIB, seed=2)
    async with (
        pair.caches(),
        pair.transfer(one, first, sender="ma1") as from_a,
        pair.transfer(two, second, sender="mc1") as from_c,
    ):
        outcomes = await asyncio.gather(from_a.outcome(), from_c.outcome())
    for outcome in outcomes:
        outcome.assert_everyone_has_it()
    assert set(outcomes[0].receivers) == {"mb1", "mc1", "md1"}  # mc1 sends in the other
    assert set(outcomes[1].receivers) == {"ma1", "mb1", "md1"}


async def test_a_token_of_one_session_does_not_open_the_other(pair: Lab) -> None:
    one, two = pair.session(), pair.session()
    assert one.token != two.token
    async with pair.receiver(one, "mb1", token=two.token) as stranger:
        with pytest.raises(AgentError) as refused:
            await stranger.wait_for("joined")
    assert refused.value.code == "refused"


async def test_two_senders_of_one_session_each_reach_their_listeners(pair: Lab) -> None:
    session = pair.session()
    first, second = pair.file(MIB, seed=3), pair.file(MIB, seed=4)
    async with (
        pair.caches(),
        pair.sender(session, "ma1", first, 2) as one,
        pair.sender(session, "mc1", second, 2) as two,
    ):
        sources = {agent: (await agent.wait_for("joined")).integer("member") for agent in (one, two)}
        async with (
            pair.receiver(session, "mb1", source=sources[one], output=pair.folder / "one.bin") as hears_one,
            pair.receiver(session, "md1", source=sources[two], output=pair.folder / "two.bin") as hears_two,
        ):
            async with asyncio.timeout(30):
                await asyncio.gather(hears_one.finish(), hears_two.finish())
            for agent in (one, two):
                agent.signal(signal.SIGTERM)
    assert (pair.folder / "one.bin").read_bytes() == first.read_bytes()
    assert (pair.folder / "two.bin").read_bytes() == second.read_bytes()
