"""gfagent as a child process: events arrive, every ending is told by its type, nothing is left running."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from groupflow.agents import errors
from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.events import Event
from groupflow.agents.options import CacheOptions, RecvOptions, SendOptions
from groupflow.errors import Kind
from groupflow.needs import MissingError

Install = Callable[[str], Path]
SEND = SendOptions(session=7, name="ma1", token="c0ffee", file=Path("f"))
COMPLETE = """event joined ',"member":1'; event complete ',"bytes":5,"lost":[]'"""


async def test_events_reach_the_listener_in_order(gfagent: Install, tmp_path: Path) -> None:
    gfagent(COMPLETE)
    heard: list[Event] = []
    async with AgentProcess(SEND, on_event=heard.append) as agent:
        complete = await agent.finish()
    assert [event.name for event in heard] == ["joined", "complete"]
    assert complete.integer("bytes") == 5
    assert agent.latest["joined"].integer("member") == 1
    assert (tmp_path / "token").read_text() == "c0ffee\n"
    assert "c0ffee" not in (tmp_path / "arguments").read_text()


async def test_lost_members_are_no_error(gfagent: Install) -> None:
    gfagent("""event complete ',"lost":["mb1"]'; exit 3""")
    async with AgentProcess(SEND) as agent:
        assert (await agent.finish()).texts("lost") == ("mb1",)


@pytest.mark.parametrize(
    ("code", "exit_code", "kind"),
    [
        ("refused", 4, Kind.INVALID),
        ("input", 2, Kind.USAGE),
        ("new", 1, Kind.FAILED),
        ("interrupted", 1, Kind.INTERRUPTED),
    ],
)
async def test_an_error_has_gfagents_code(gfagent: Install, code: str, exit_code: int, kind: Kind) -> None:
    told = f""","code":"{code}","cause":"it broke","cure":"mend it","exit":{exit_code}"""
    gfagent(f"event error '{told}'; exit {exit_code}")
    async with AgentProcess(SEND) as agent:
        with pytest.raises(errors.AgentError, match=r"^it broke; mend it$") as caught:
            await agent.finish()
    assert (caught.value.code, caught.value.exit_code, caught.value.kind) == (code, exit_code, kind)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'gfagent: out of luck; wait' >&2; exit 1", r"exited with status 1: out of luck; wait"),
        ("exit 0", r"gfagent of ma1 \(pid \d+\) exited with status 0"),
        ("kill -SEGV $$", r"was ended by signal 11"),
    ],
)
async def test_an_end_without_a_reason_is_a_death(gfagent: Install, script: str, message: str) -> None:
    gfagent(script)
    async with AgentProcess(SEND) as agent:
        with pytest.raises(errors.AgentError, match=message) as died:
            await agent.finish()
    assert died.value.code == "died"


async def test_waiting_for_an_event_ends_with_the_process(gfagent: Install) -> None:
    gfagent("""event ready ""; event error ',"code":"refused","cause":"wrong token"'; exit 4""")
    async with AgentProcess(SEND) as agent:
        assert (await agent.wait_for("ready")).name == "ready"
        with pytest.raises(errors.AgentError, match="wrong token") as refused:
            await agent.wait_for("joined")
    assert refused.value.code == "refused"


async def test_leaving_the_block_stops_it(gfagent: Install) -> None:
    gfagent("""trap 'event stats ""; exit 0' TERM; event ready ""; while :; do sleep 0.01; done""")
    async with AgentProcess(CacheOptions(name="sa1")) as agent:
        await agent.wait_for("ready")
    assert agent.returncode == 0
    assert "stats" in agent.latest  # its last words were heard


async def test_one_that_ignores_sigterm_is_killed(gfagent: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupflow.processes.STOP_SECONDS", 0.1)
    gfagent("""trap '' TERM; event ready ""; while :; do sleep 0.01; done""")
    async with AgentProcess(SEND) as agent:
        await agent.wait_for("ready")
    assert agent.returncode == -signal.SIGKILL


async def test_cancelling_the_work_stops_it_too(gfagent: Install) -> None:
    gfagent("""event ready ""; exec sleep 60""")
    agent = AgentProcess(SEND)
    ready = asyncio.Event()

    async def work() -> None:
        async with agent:
            await agent.wait_for("ready")
            ready.set()
            await agent.finish()

    task = asyncio.create_task(work())
    await ready.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert agent.returncode is not None


async def test_a_receivers_data_and_events_have_a_stream_each(gfagent: Install) -> None:
    gfagent("""event joined "" >&2; printf data; event complete "" >&2""")
    async with AgentProcess(RecvOptions(session=7, name="mb1")) as agent:
        assert await agent.data_out.read() == b"data"
        assert (await agent.finish()).name == "complete"


async def test_lines_that_are_no_events_do_no_harm(gfagent: Install) -> None:
    gfagent(f"echo hello; head -c 2000000 /dev/zero | tr '\\0' x; echo; {COMPLETE}")
    async with AgentProcess(SEND) as agent:
        assert (await agent.finish()).name == "complete"


async def test_a_launcher_goes_first(gfagent: Install) -> None:
    gfagent(COMPLETE + """; [ "$PLACE" = elsewhere ] || exit 1""")
    async with AgentProcess(SEND, launcher=("env", "PLACE=elsewhere")) as agent:
        await agent.finish()


async def test_a_missing_program_is_told(gfagent: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(MissingError, match=r"no gfagent beside .*; run make setup"):
        await AgentProcess(SEND).__aenter__()
