"""TCP sessions over the REST API, and as the commands show them."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from groupflow.cli.main import main
from groupflow.control.api.rest import make_app
from groupflow.control.api.server import listen, serve_app
from tests.support.split import Lab, lab
from tests.support.waiting import until

pytestmark = pytest.mark.slow


@asynccontextmanager
async def served(folder: Path) -> AsyncGenerator[tuple[Lab, httpx.AsyncClient, str]]:
    async with lab(folder) as subject:
        with listen("127.0.0.1", 0) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            serving = asyncio.create_task(serve_app(make_app(subject.world.running), listener))
            try:
                async with httpx.AsyncClient(base_url=f"{url}/v1", trust_env=False) as client:
                    yield subject, client, url
            finally:
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)


async def command(url: str, *line: str) -> int:
    return await asyncio.to_thread(main, ["--api", url, *line])


async def command_line(url: str, line: str) -> int:
    return await command(url, *line.split())


async def test_a_switch_that_fails_makes_a_session_unavailable(tmp_path: Path) -> None:
    async with served(tmp_path) as (subject, client, _url):
        subject.world.switches["s1"].refuse = {"ipv4_route"}
        made = await client.post("/sessions", json={"id": 7, "tcp": {"ports": [5000]}})
        assert made.status_code == 503 and made.json()["error"].startswith("switch s1 refused "), made.text
        assert (await client.get("/sessions/7")).status_code == 404
        subject.world.switches["s1"].refuse = set()
        assert (await client.post("/sessions", json={"id": 7, "tcp": {"ports": [5000]}})).status_code == 201


async def test_a_tcp_session_is_created_and_shown(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, client, _url):
        made = await client.post("/sessions", json={"id": 7, "tcp": {"ports": [5000]}})
        assert made.status_code == 201, made.text
        assert made.json()["address"] == "10.200.0.1"
        shown = (await client.get("/sessions/7")).json()
        assert shown["tcp"] == {
            "address": "10.200.0.1",
            "ports": [5000],
            "cache_bytes": 64 << 20,
            "history_bytes": 0,
            "congestion": None,
            "send_buffer": None,
            "receive_buffer": None,
            "replies": "drop",
            "agents": [],
            "budget": 0,
        }
        assert (await client.post("/sessions", json={"id": 8})).json()["tcp"] is None
        none = await client.get("/sessions/8/tcp")
        assert none.status_code == 404 and "carries no TCP" in none.json()["error"]


@pytest.mark.parametrize(
    ("tcp", "status", "text"),
    [
        ({"ports": []}, 422, "tcp.ports"),
        ({"ports": [0]}, 422, "tcp.ports.0: input should be greater than or equal to 1"),
        ({"ports": [1], "cache_bytes": 3}, 422, "tcp.cache_bytes: input should be greater than or equal"),
        ({"ports": [1], "colour": 1}, 422, "tcp.colour"),
        ({"ports": [1], "replies": "all"}, 422, "tcp.replies"),
        ({"ports": [1], "agents": ["s3"]}, 400, "no switch 's3' with an agent"),
    ],
)
async def test_what_is_wrong_is_named(tmp_path: Path, tcp: dict[str, Any], status: int, text: str) -> None:
    async with served(tmp_path) as (_, client, _url):
        answer = await client.post("/sessions", json={"tcp": tcp})
        assert answer.status_code == status and text in answer.json()["error"]


async def test_agents_are_listed(tmp_path: Path) -> None:
    async with served(tmp_path) as (subject, client, _):
        await subject.agents["c2"].stop()
        await subject.down("s2")
        agents = (await client.get("/agents")).json()
        assert [
            (a["kind"], a["switch"], a["host"], a["state"], a["holds"]["bytes"], a["bounds"]["bytes"])
            for a in agents
        ] == [("split", "s1", "c1", "up", 5, 9), ("split", "s2", "c2", "away", 0, None)]
        assert agents[1]["problem"]


@pytest.mark.slow
async def test_the_command_creates_and_shows(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async with served(tmp_path) as (subject, _, url):
        line = "session create 7 --tcp-port 5000 --tcp-port 5001 --cache 1MiB --congestion cubic"
        line += " --replies merge"
        assert (
            await command(url, *line.split(), "--agents", "s1", "--agents", "s2", "--send-buffer", "8192")
            == 0
        )
        out = capfd.readouterr().out
        assert "10.200.0.1:5000 10.200.0.1:5001" in out
        settings = subject.world.running.manager.get(7).record.tcp
        assert settings is not None
        assert (settings.cache, settings.congestion, settings.replies) == (1 << 20, "cubic", "merge")
        assert (settings.agents, settings.send_buffer) == (("s1", "s2"), 8192)
        await subject.listener("h4")
        c2 = subject.agents["c2"]
        c2.tell("stream_opened", 7, stream="ab", peer="10.0.1.1:4", **{"from": "sender"})
        c2.tell("receipt", 7, stream="ab", member=1, bytes=1234)
        await until(lambda: bool(subject.events("receipt")), "told")
        assert await command(url, "session", "stats", "7") == 0
        out = capfd.readouterr().out
        assert "10.200.0.1:5000" in out and "1234" in out and "h4" in out and "c2" in out
        assert await command(url, "session", "stats", "7", "--json") == 0
        told = json.loads(capfd.readouterr().out)
        assert told["streams"][0]["receipts"][0]["bytes"] == 1234
        assert await command(url, "agent", "list") == 0
        assert "c1.split.sock" in capfd.readouterr().out
        assert await command(url, "session", "list") == 0
        assert "10.200.0.1" in capfd.readouterr().out


@pytest.mark.slow
async def test_the_command_lets_the_controller_choose_agents_and_changes_settings(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with served(tmp_path) as (subject, client, url):

        def settings() -> dict[str, Any]:
            tcp = subject.world.running.manager.get(7).record.tcp
            assert tcp is not None
            return asdict(tcp)

        assert await command_line(url, "session create 7 --tcp-port 5000 --budget 1 --congestion cubic") == 0
        out = capfd.readouterr().out
        (chosen,) = settings()["agents"]
        assert settings()["budget"] == 1 and ["agents", chosen] in [line.split() for line in out.splitlines()]
        await subject.listener("h4", 9004)
        assert await command_line(url, "session set 7 --budget 1 --cache 1MiB") == 0
        near = settings()
        assert (near["agents"], near["cache"]) == (("s2",), 1 << 20)
        await until(lambda: subject.branches("c2") == ["h4"], "where its member is")
        assert subject.branches("c1") == ["no session"]
        assert await command_line(url, "session set 7 --agents s1 --agents s2") == 0
        named = settings()
        assert (named["agents"], named["budget"]) == (("s1", "s2"), 0)
        answer = await client.patch("/sessions/7", json={"tcp": {"congestion": None}})
        assert answer.status_code == 200 and settings() == {**named, "congestion": None}
        assert (await client.post("/sessions", json={"id": 8})).status_code == 201
        for session, tcp, text in (
            (7, {"agents": ["s1"], "budget": 1}, "give agents or a budget"),
            (7, {"agents": ["s3"]}, "no switch 's3' with an agent"),
            (7, {"ports": [1]}, "tcp.ports"),
            (8, {"replies": "merge"}, "carries no TCP"),
        ):
            answer = await client.patch(f"/sessions/{session}", json={"tcp": tcp})
            assert answer.is_client_error and text in answer.json()["error"]
        answer = await client.post("/sessions", json={"tcp": {"ports": [1], "agents": ["s1"], "budget": 1}})
        assert answer.status_code == 400 and "give agents or a budget" in answer.json()["error"]


async def test_none_gives_a_setting_back_to_the_kernel(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with served(tmp_path) as (subject, _, url):
        line = "session create 7 --tcp-port 5000 --congestion cubic --send-buffer 8KiB --receive-buffer 8KiB"
        assert await command_line(url, line) == 0
        assert await command_line(url, "session set 7 --congestion none --send-buffer none") == 0
        settings = subject.world.running.manager.get(7).record.tcp
        assert settings is not None
        kept = (settings.congestion, settings.send_buffer, settings.receive_buffer)
        assert kept == (None, None, 8192)


async def test_the_command_places_the_agents_of_a_tcp_session(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The members are listeners; any client may send."""
    async with served(tmp_path) as (subject, client, url):
        await client.post("/sessions", json={"id": 7, "tcp": {"ports": [5000]}})
        for port in (9001, 9002):
            await client.post("/sessions/7/members", json={"host": "h4", "port": port, "name": f"p{port}"})
        assert len(subject.world.running.manager.get(7).listeners) == 2
        assert (
            await command_line(url, "agent place --session 7 --agents 1 --candidate s1 --candidate s2 --json")
            == 0
        )
        assert json.loads(capfd.readouterr().out)["agents"] == ["s2"]


@pytest.mark.slow
async def test_what_the_command_watches_as_json_is_a_line_a_change(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with served(tmp_path) as (subject, client, url):
        await client.post("/sessions", json={"id": 7, "tcp": {"ports": [5000]}})
        await subject.listener("h4")
        watching = asyncio.create_task(command(url, "session", "watch", "7", "--json", "--interval", "50ms"))
        out = ""

        def told(word: str) -> bool:
            nonlocal out
            out += capfd.readouterr().out
            return word in out

        await until(lambda: told("settings"), "told")
        subject.agents["c2"].tell("receipt", 7, stream="ab", member=1, bytes=1234)
        await until(lambda: told("1234"), "told of the receipt")
        await client.delete("/sessions/7")
        assert await watching == 4
        lines = (out + capfd.readouterr().out).splitlines()
        assert all("settings" in json.loads(line) for line in lines)
        assert all(a != b for a, b in pairwise(lines)), "a state that stays is told once"


@pytest.mark.slow
async def test_the_command_watches_until_the_controller_is_gone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with served(tmp_path) as (subject, client, url):
        await client.post("/sessions", json={"id": 7, "tcp": {"ports": [5000]}})
        await subject.listener("h4")
        watching = asyncio.create_task(command(url, "session", "watch", "7", "--interval", "50ms"))
        c2 = subject.agents["c2"]
        c2.tell("receipt", 7, stream="ab", member=1, bytes=1234)
        c2.tell("member_failed", 7, stream="ab", member=9, text="went away")
        out = ""

        def told() -> bool:
            nonlocal out
            out += capfd.readouterr().out
            return "1234" in out and "went away" in out

        await until(told, "told")
        await asyncio.wait({watching}, timeout=0.5)  # some rounds, so that a repetition would be seen
        await client.delete("/sessions/7")
        assert await watching == 4, "the session is gone"
        lines = (out + capfd.readouterr().out).splitlines()
        assert lines.count("ab h4 (member 1) has all 1234 bytes") == 1
        assert lines.count("ab member 9 failed: went away") == 1


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("session create --cache 1MiB", "give it, too"),
        ("session create --tcp-port 0", "'0' will not do; write a whole number from 1 to 65535"),
        ("session create --tcp-port 1 --cache lots", "'lots' is no size"),
        ("session create --tcp-port 1 --budget -1", "'-1' will not do; write a whole number from 0 on"),
        ("session watch 7 --interval 0", "'0' will not do; write a time above 0"),
    ],
)
def test_a_command_line_that_will_not_do(line: str, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--api", "http://127.0.0.1:1", *line.split()]) == 2
    assert text in capfd.readouterr().err


@pytest.mark.slow
async def test_members_are_registered_over_the_api_and_stay(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with served(tmp_path) as (subject, client, url):
        await client.post("/sessions", json={"id": 7, "tcp": {"ports": [5000]}})
        assert (
            await command(url, *["member", "create", "7", "h2", "9000", "--name", "one", "--from", "start"])
            == 0
        )
        assert "one" in capfd.readouterr().out
        made = await client.post("/sessions/7/members", json={"host": "h2", "port": 9001})
        assert made.status_code == 201 and made.json()["tcp_port"] == 9001
        assert subject.branches("c1") == ["one", "h2"]
        await subject.world.advance(10)
        assert len(subject.world.running.manager.get(7).listeners) == 2, "nobody expects to hear of them"
        for body, status, text in (
            ({"host": "h9", "port": 1}, 400, "no host 'h9'"),
            ({"host": "h2", "port": 0}, 422, "port"),
            ({"host": "h2", "port": 9000, "name": "two"}, 400, "one is a member with port 9000"),
        ):
            answer = await client.post("/sessions/7/members", json=body)
            assert answer.status_code == status and text in answer.json()["error"]
        await subject.world.stop()
        await subject.world.start()
        await subject.world.advance(10)
        assert len(subject.world.running.manager.get(7).listeners) == 2
        subject.agents["c1"].tell("member_failed", 7, stream="ab", member=1, text="refused")
        await until(lambda: subject.branches("c1") == ["h2"], "failed ones leave")
