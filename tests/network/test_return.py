"""A receiver that is stopped while its stream ends, and comes back."""

import signal

import pytest

from groupflow.agents.errors import AgentError
from groupflow.agents.events import Event
from groupflow.files import variants
from tests.network.harness import MIB, MakeLab, eventually

FIG5 = variants.with_rate(variants.with_members(variants.named("fig5"), 1), 40_000_000)
SIZE = 12 * MIB
"""2.5 s"""


@pytest.mark.parametrize("policy", ["strict", "isolate"])
async def test_it_ends_and_the_session_goes_on(make_lab: MakeLab, policy: str) -> None:
    with make_lab(FIG5) as lab:
        session, file = lab.session(policy=policy), lab.file(SIZE)
        async with lab.caches():
            async with lab.transfer(session, file) as transfer:
                await transfer.until(0.3)
                stopped = transfer.receivers["mb1"]
                stopped.signal(signal.SIGSTOP)
                try:
                    await eventually(lambda: "complete" in transfer.sender.latest, 30, "the sender ends")
                finally:
                    stopped.signal(signal.SIGCONT)
                outcome = await transfer.outcome(20)
            assert isinstance(outcome.sender, Event) and outcome.sender.texts("lost") == ("mb1",)
            ended = outcome.receivers["mb1"]
            # With isolate the rest of the file may be in the receiver's socket, and the receiver has it all.
            gone = isinstance(ended, AgentError) and "is gone before the end of its stream" in str(ended)
            assert gone or (policy == "isolate" and outcome.equal["mb1"])
            async with lab.transfer(session, file) as again:
                (await again.outcome(30)).assert_everyone_has_it()
