"""The number of connections of a host to its parent, as the dispatchers measure it."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

import groupflow
from groupflow.agents.errors import ClientError
from groupflow.agents.events import Event
from groupflow.probe import Cell, Probe, ProbeError
from groupflow.store.memory import MemoryStore
from groupflow.tree import answers
from groupflow.tree.errors import TreeRefusedError
from groupflow.tree.members import TreeRecvOptions, TreeSendOptions
from groupflow.tree.options import DispatchOptions
from groupflow.tree.questions import ask
from groupflow.tree.service import Dispatch
from tests.support.tokens import token_file

TOKEN = "c0ffee"
CELLS = tuple(Cell(None, number, 1e6 * number) for number in (1, 2, 4, 8))
FOUND = Probe(0, 4, 4e6, 0.01, CELLS, CELLS[0])


@asynccontextmanager
async def serving(**options: Any) -> AsyncGenerator[dict[str, Any]]:
    """Dispatchers. Yields access to them."""
    given: dict[str, Any] = {"token": TOKEN, "listen": ("127.0.0.1", 0), "measure_s": 1.0} | options
    async with Dispatch(DispatchOptions(**given), MemoryStore()) as service:
        identity = service.forest.identity
        pin = identity.pin if identity else None
        yield {"to": f"127.0.0.1:{service.port}", "tls_pin": pin, "token": TOKEN}


async def settled(where: dict[str, Any]) -> tuple[TreeRecvOptions, list[Event]]:
    events: list[Event] = []
    options = TreeRecvOptions(name="r", parallel="auto", **where)
    return await options.settled(events.append), events


@pytest.mark.slow
@pytest.mark.parametrize("plain", [False, True])
async def test_each_number_is_measured_and_one_is_used(plain: bool) -> None:
    async with serving(plain=plain) as where:
        options, events = await settled(where)
    assert [event.name for event in events] == ["measuring"] * 4 + ["parallel"]
    assert [event.integer("connections") for event in events[:-1]] == [1, 2, 4, 8]
    assert all(event.number("bps") > 0 for event in events[:-1])
    assert options.parallel == events[-1].integer("connections")
    assert events[-1].fields["reason"] is None


async def test_what_is_measured_is_what_gfagent_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    async def measure(host: str, port: int, **_: Any) -> Probe:
        asked.append((host, port))
        return FOUND

    monkeypatch.setattr(answers, "measure", measure)
    async with serving() as where:
        options, events = await settled(where)
    assert asked[0][0] == "127.0.0.1"
    assert "--parallel 4" in " ".join(options.arguments())
    assert events[-1].number("rtt_s") == 0.01
    # The source has no parent.
    source = TreeSendOptions(name="s", parallel="auto", **where)
    assert (await source.settled(events.append)).parallel is None and len(asked) == 1


@pytest.mark.parametrize(
    ("options", "change", "reason"),
    [
        ({"measure_s": 0}, {}, "these dispatchers do not measure"),
        ({}, {"token": "bad"}, "the token is wrong"),
        ({}, {"tls_pin": "0" * 64}, "has another certificate; check --tls-pin"),
        ({}, {"tls_pin": None}, "ended the connection"),
        ({}, {"to": "127.0.0.1:1"}, "connection refused; check --to"),
    ],
)
async def test_without_a_measurement_it_is_one_and_why_is_said(
    options: dict[str, Any], change: dict[str, Any], reason: str
) -> None:
    async with serving(**options) as where:
        settled_options, (event,) = await settled(where | change)
    assert settled_options.parallel == 1 == event.integer("connections")
    assert reason in event.text("reason")


async def refusal(where: dict[str, Any], **more: Any) -> str:
    with pytest.raises(TreeRefusedError) as error:
        async with aclosing(ask(where["to"], where["tls_pin"], where["token"], "measure", **more)) as said:
            async for _ in said:
                pass
    assert "\n" not in str(error.value)
    return str(error.value)


async def test_who_has_no_token_makes_nobody_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    async def measure(*_: Any, **__: Any) -> Probe:
        raise AssertionError("a stranger was served")

    monkeypatch.setattr(answers, "measure", measure)
    async with serving() as where:
        assert await refusal(where | {"token": "bad"}, port=1, key="x") == "the token is wrong"
        assert "port: 0 is not a port" in await refusal(where, port=0, key="x")
        assert "a line makes no sense" in await refusal(where)


async def test_nothing_is_sent_to_who_does_not_serve_a_probe() -> None:
    """It listens, but cannot prove to have the key."""
    came: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            came.append(line)
            writer.write(
                json.dumps({"groupflow_probe": 1, "nonce": "n", "proof": "p", "ticket": "t"}).encode()
            )
            writer.write(b"\n")
        writer.close()

    other = await asyncio.start_server(hear, "127.0.0.1", 0)
    async with other, serving() as where:
        said = await refusal(where, port=other.sockets[0].getsockname()[1], key="k")
    assert "cannot measure" in said and len(came) == 2


async def test_one_is_measured_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def measure(*_: Any, **__: Any) -> Probe:
        assert not begun.is_set()
        begun.set()
        await go_on.wait()
        raise ProbeError("it was enough")

    monkeypatch.setattr(answers, "measure", measure)
    monkeypatch.setattr(answers, "_TURN_SECONDS", 0.05)
    async with serving() as where:
        first = asyncio.create_task(refusal(where, port=1, key="k"))
        await begun.wait()
        assert "try again later" in await refusal(where, port=1, key="k")
        go_on.set()
        assert "it was enough" in await first


@pytest.mark.slow
async def test_who_is_measured_does_not_hold_up_the_dispatchers() -> None:
    async with serving(measure_s=12) as where:
        options = TreeRecvOptions(name="r", parallel="auto", **where)
        begun = asyncio.Event()
        measuring = asyncio.create_task(options.settled(lambda _: begun.set()))
        async with asyncio.timeout(30):
            await begun.wait()
        common: dict[str, Any] = where
        async with (
            groupflow.TreeSession(role="sender", **common) as sender,
            groupflow.TreeSession(role="receiver", start="start", **common) as receiver,
        ):
            await sender.send(b"hello")
            finishing = asyncio.create_task(sender.finish())
            assert b"".join([chunk async for chunk in receiver.stream()]) == b"hello"
            await finishing
        assert not measuring.done()
        measuring.cancel()
        await asyncio.gather(measuring, return_exceptions=True)


@pytest.mark.slow
async def test_the_command_tells_what_was_measured() -> None:
    async with serving() as where:
        common = ("--to", where["to"], "--token-file", token_file(TOKEN), "--tls-pin", where["tls_pin"])
        command = (sys.executable, "-m", "groupflow.cli.main", "tree")
        pipe = asyncio.subprocess.PIPE
        receiving = await asyncio.create_subprocess_exec(
            *command,
            "recv",
            *common,
            "--parallel",
            "auto",
            "--json",
            "--from",
            "start",
            stdout=pipe,
            stderr=pipe,
        )
        sending = await asyncio.create_subprocess_exec(
            *command, "send", *common, "--parallel", "auto", stdin=pipe, stderr=pipe
        )
        await asyncio.wait_for(sending.communicate(b"data"), 60)
        data, said = await asyncio.wait_for(receiving.communicate(), 60)
    assert (sending.returncode, receiving.returncode, data) == (0, 0, b"data")
    events = [json.loads(line) for line in said.splitlines()]
    (found,) = [event for event in events if event["event"] == "parallel"]
    assert found["connections"] in (1, 2, 4, 8) and len(found["cells"]) == 4


def test_it_measures_from_here_only() -> None:
    with pytest.raises(ClientError, match="measures from this process"):
        groupflow.TreeSession("127.0.0.1:1", role="receiver", parallel="auto", launcher=["x"])
