"""The REST API and the commands that use it, over a real socket."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from groupflow.agents.api_token import headers
from groupflow.cli.main import main
from groupflow.control.api.server import ApiError, listen
from groupflow.control.controller import Controller
from groupflow.errors import UnavailableError
from tests.support.api import command, served
from tests.support.waiting import until
from tests.support.world import JSON, P4INFO, TOPOLOGY

pytestmark = pytest.mark.slow


async def test_sessions_are_created_changed_and_deleted() -> None:
    async with served() as (w, client, _):
        made = await client.post("/sessions", json={"id": 9, "mode": "n2n", "lifetime": 60})
        assert made.status_code == 201
        body = made.json()
        assert (body["id"], body["mode"], body["policy"], body["window"]) == (9, "n2n", "strict", 4096)
        assert body["tokens"]["sender"] == w.token(9, "sender") and body["expires"]
        assert (await client.post("/sessions", json={})).json()["id"] == 10
        changed = await client.patch("/sessions/9", json={"policy": "isolate", "window": 16})
        assert (changed.json()["policy"], changed.json()["window"]) == ("isolate", 16)
        assert (await client.delete("/sessions/9")).status_code == 204
        assert [session["id"] for session in (await client.get("/sessions")).json()] == [7, 10]


async def test_a_session_shows_members_and_trees() -> None:
    async with served() as (_, client, _url):
        session = (await client.get("/sessions/7")).json()
        assert [(m["name"], m["role"], m["switch"]) for m in session["members"]] == [
            ("h1", "sender", "s1"),
            ("h2", "receiver", "s1"),
            ("h3", "receiver", "s2"),
        ]
        (stream,) = session["streams"]
        assert stream["rate"] == 10_000_000
        assert [(n["switch"], n["upstream"], n["agent"]) for n in stream["tree"]] == [
            ("s1", "h1", "c1"),
            ("s2", "s1", None),
        ]
        assert [b["node"] for b in stream["tree"][0]["branches"]] == ["h2", "s2"]
        assert len((await client.get("/members")).json()) == 3


async def test_switches_agents_links_and_health() -> None:
    async with served() as (w, client, _):
        switches = (await client.get("/switches")).json()
        assert [(s["name"], s["state"], s["streams"]) for s in switches] == [
            ("s1", "up", 1),
            ("s2", "up", 1),
            ("s3", "up", 0),
        ]
        agents = (await client.get("/agents")).json()
        assert [(a["kind"], a["switch"], a["host"], a["state"]) for a in agents] == [
            ("cache", "s1", "c1", "up"),
            ("split", "s1", "c1", "away"),
            ("split", "s2", "c2", "away"),
        ]
        assert (agents[0]["holds"]["streams"], agents[0]["holds"]["bytes"]) == (1, 0)
        links = (await client.get("/links")).json()
        assert links[2] == {
            "name": "s1-s2",
            "ends": ["s1-eth3", "s2-eth1"],
            "rate": "50mbit",
            "delay": "10ms",
            "loss": "0",
            "queue": 200,
        }
        assert (await client.get("/health")).json()["status"] == "ok"
        w.switches["s3"].stop()
        await until(lambda: w.state("s3") == "down")
        assert (await client.get("/health")).json()["status"] == "degraded"
        lost = await client.get("/switches/s3/entries")
        assert lost.status_code == 503 and "switch s3 is down" in lost.json()["error"]


async def test_a_member_is_removed() -> None:
    async with served() as (w, client, _):
        assert (await client.delete("/sessions/7/members/2")).status_code == 204
        assert set(w.running.manager.get(7).members) == {1, 3}


ERRORS: list[tuple[str, str, dict[str, Any] | None, int, str]] = [
    ("GET", "/sessions/99", None, 404, "no session 99; create it, or list the sessions"),
    ("GET", "/sessions/x", None, 422, "session: input should be a valid integer"),
    ("POST", "/sessions", {"id": 7}, 400, "session 7 exists already; choose another id"),
    ("POST", "/sessions", {"id": 0}, 422, "id: input should be greater than or equal to 1"),
    ("POST", "/sessions", {"window": 0}, 422, "window: input should be greater than or equal to 1"),
    ("POST", "/sessions", {"mod": "e2e"}, 422, "mod: extra inputs are not permitted"),
    ("POST", "/sessions", {"policy": "demote"}, 422, "policy: input should be 'strict' or 'isolate'"),
    ("PATCH", "/sessions/7", {"mode": "p2p"}, 422, "mode: input should be 'e2e' or 'n2n'"),
    ("DELETE", "/sessions/7/members/9", None, 404, "session 7 has no member 9; list its members"),
    ("GET", "/switches/s9", None, 404, "no switch 's9'; there are s1, s2, s3"),
    ("GET", "/switches/s1/entries?table=x", None, 404, "no table 'x'; there are port_sources"),
    ("GET", "/switches/s1/counters?counter=x", None, 404, "no counter 'x'; there are"),
    ("GET", "/nothing", None, 404, "Not Found"),
]


async def test_errors_are_one_clear_line() -> None:
    async with served() as (_, client, _url):
        for method, path, body, status, error in ERRORS:
            answer = await client.request(method, path, json=body)
            text = answer.json()["error"]
            assert (answer.status_code, text.startswith(error)) == (status, True), (path, body, text)
            assert "\n" not in text


async def test_events_are_followed() -> None:
    async with served() as (w, client, _), client.stream("GET", "/events?recent=1") as response:
        lines = response.aiter_lines()
        assert json.loads((await anext(lines)).removeprefix("data: "))["event"] == "member-joined"
        while await anext(lines) != ": following":
            pass
        assert await anext(lines) == ""
        await w.running.manager.delete(7)
        event = json.loads((await anext(lines)).removeprefix("data: "))
        assert (event["event"], event["session"]) == ("session-deleted", 7)


@pytest.mark.slow
async def test_the_openapi_document_names_every_path() -> None:
    async with served() as (_, _client, url):
        async with httpx.AsyncClient(trust_env=False, headers=headers(url)) as client:
            document = (await client.get(f"{url}/openapi.json")).json()
        assert {"/v1/sessions", "/v1/switches/{name}/counters", "/v1/events"} <= document["paths"].keys()


@pytest.mark.slow
async def test_agents_are_placed_for_a_session_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    async with served() as (_, client, url):
        found = (await client.get("/sessions/7/placement", params={"agents": 1})).json()
        assert found["agents"] == ["s1"]
        assert found["connections"][1:] == [
            {"sender": "h1", "start": "s1", "end": "h2"},
            {"sender": "h1", "start": "s1", "end": "h3"},
        ]
        assert (
            await command(
                url, "agent", "place", "--session", "7", "--agents", "1", "--candidate", "s2", "--json"
            )
            == 0
        )
        assert json.loads(capsys.readouterr().out)["agents"] == []
        assert await command(url, "agent", "place", "--session", "7", "--agents", "9") == 4
        assert capsys.readouterr().err.startswith("groupflow: 9 agents are more than the 3 switches")
        assert await command(url, "agent", "place", "--session", "8", "--agents", "1") == 4
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
async def test_the_command_shows_and_changes(capsys: pytest.CaptureFixture[str]) -> None:
    async with served() as (w, _, url):
        assert await command(url, "session", "create", "8", "--mode", "n2n") == 0
        assert w.token(8) in capsys.readouterr().out
        assert await command(url, "session", "list", "--json") == 0
        assert [session["id"] for session in json.loads(capsys.readouterr().out)] == [7, 8]
        assert await command(url, "session", "set", "8", "--policy", "isolate") == 0
        assert "isolate" in capsys.readouterr().out
        assert await command(url, "session", "show", "7") == 0
        shown = capsys.readouterr().out
        assert "h3" in shown and "SOURCE" in shown and "c1" in shown
        assert await command(url, "member", "list", "7") == 0
        assert capsys.readouterr().out.splitlines()[1].split()[:4] == ["7", "1", "h1", "sender"]
        assert await command(url, "member", "delete", "7", "2") == 0
        assert await command(url, "session", "delete", "8") == 0
        assert await command(url, "session", "token", "7", "--role", "receiver") == 0
        assert capsys.readouterr().out.strip() == w.token(7, "receiver")
        for words in (
            ["switch", "list"],
            ["switch", "show", "s1"],
            ["agent", "list"],
            ["switch", "counters", "s1"],
        ):
            assert await command(url, *words) == 0
        assert await command(url, "switch", "show", "s1", "--table", "streams") == 0


@pytest.mark.slow
async def test_the_command_changes_and_shows_the_targets_of_a_receiver(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with served() as (w, client, url):
        assert await command(url, "member", "set", "7", "2", "--target", "4mbit") == 4
        assert "set its policy to isolate first" in capsys.readouterr().err
        await w.running.manager.change(7, policy="isolate")
        given = ("--target", "4mbit", "--minimum", "1mbit", "--priority", "2")
        assert await command(url, "member", "set", "7", "2", *given) == 0
        w.running.sharing.round()
        shown = (await client.get("/sessions/7/members")).json()[1]
        wanted = {"target_bps": 4_000_000, "minimum_bps": 1_000_000, "priority": 2}
        assert shown.items() >= wanted.items() and shown["share_bps"] > 9_000_000
        capsys.readouterr()
        for words in (("controller", "show"), ("session", "show", "7"), ("member", "list")):
            assert await command(url, *words) == 0
            assert "4.0mbit" in capsys.readouterr().out, words
        broken: dict[str, Any] = {"broken": object()}
        w.running.gathering.policies = {**w.running.gathering.policies, **broken}
        await w.running.gathering.configure(policy="broken")
        w.running.sharing.round()
        assert await command(url, "controller", "show") == 0
        assert "sharing problem: link of h2: the policy failed" in capsys.readouterr().out
        assert await command(url, "member", "set", "7", "2", "--minimum", "none", "--json") == 0
        assert json.loads(capsys.readouterr().out)[0]["minimum_bps"] is None
        assert await command(url, "member", "set", "7", "2", "--target", "none", "--json") == 0
        assert json.loads(capsys.readouterr().out)[0]["target_bps"] is None
        bad = await client.patch("/sessions/7/members/2", json={"target_bps": 0})
        assert (bad.status_code, "target_bps" in bad.json()["error"]) == (422, True)


COMMAND_ERRORS: list[tuple[list[str], int, str]] = [
    (["member", "set", "7", "2"], 2, "groupflow: nothing to change; give --target, --minimum or"),
    (["session", "show", "99"], 4, "groupflow: no session 99; create it, or list the sessions"),
    (["session", "create", "7"], 4, "groupflow: session 7 exists already; choose another id"),
    (["session", "create", "0"], 2, "groupflow session create: argument SESSION: '0' is no session; write a"),
    (["session", "set", "7"], 2, "groupflow: nothing to change; give --mode, --policy or --window"),
    (["member", "delete", "7", "99"], 4, "groupflow: session 7 has no member 99"),
    (["switch", "show", "s9"], 4, "groupflow: no switch 's9'; there are s1, s2, s3"),
    (["session", "show", "x"], 2, "groupflow session show: argument SESSION: 'x' is no session; write a"),
    (
        ["session", "create", "--mode", "x"],
        2,
        "groupflow session create: --mode x: unknown; write one of e2e, n2n",
    ),
    (
        ["session", "create", "--cache", "1MiB"],
        2,
        "groupflow: --cache is a setting of TCP sessions, which need --tcp-port; give",
    ),
    (["nothing"], 2, "groupflow: COMMAND nothing: unknown; write one of net"),
    (["session", "nothing"], 2, "groupflow session: VERB nothing: unknown; write one of list"),
]


async def test_the_command_fails_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    async with served() as (_, _client, url):
        for words, code, message in COMMAND_ERRORS:
            assert await command(url, *words) == code, words
            captured = capsys.readouterr()
            assert (captured.out, captured.err[: len(message)]) == ("", message), words
            assert captured.err.count("\n") == 1, words


def test_the_command_without_a_controller_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--api", "http://127.0.0.1:1", "session", "list"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("groupflow: no controller at http://127.0.0.1:1 (") and error.count("\n") == 1
    assert "start one with `groupflow net up`" in error


@pytest.mark.parametrize(
    "words", [[], ["session"], ["session", "create"], ["controller", "run"], ["controller", "watch"]]
)
def test_help_has_an_example(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--help"]) == 0
    text = capsys.readouterr().out
    assert len(words) < 2 or "example: groupflow " + " ".join(words) in text


def run_arguments(folder: Path, changes: dict[str, str]) -> list[str]:
    """The options in `changes` are of the command, `program` and `p4info` of the topology."""
    files = "".join(f"{key}: {changes.pop(key)}\n" for key in ("program", "p4info") if key in changes)
    (folder / "net.yaml").write_text(TOPOLOGY + files)
    options = {"topology": str(folder / "net.yaml"), "listen": "127.0.0.1:0"}
    words = [word for key, value in {**options, **changes}.items() for word in (f"--{key}", value)]
    return ["controller", "run", *words]


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"topology": "none.yaml"}, 4, "groupflow: none.yaml: no such file or directory"),
        (
            {"program": str(P4INFO), "p4info": str(P4INFO)},
            *(4, f"groupflow: {P4INFO}: not JSON; name the .json file that p4c-bm2-ss wrote"),
        ),
        ({"program": str(JSON), "p4info": str(JSON)}, 4, f"groupflow: {JSON}: not P4Info text"),
        ({"p4info": str(P4INFO)}, 4, "groupflow: {FOLDER}/net.yaml: p4info: is of no program; write its"),
        ({"program": "/x.p4"}, 4, "groupflow: /x.p4: no such file or directory"),
        ({"policy-file": "none.py"}, 4, "groupflow: none.py: no such file or directory"),
        (
            {"store": "/no/folder/x.db"},
            4,
            "groupflow: --store /no/folder/x.db: folder /no/folder does not exist",
        ),
    ],
)
def test_a_controller_that_cannot_run_says_why(
    changes: dict[str, str], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(run_arguments(tmp_path, {**changes})) == code
    error = capsys.readouterr().err
    assert error.startswith(message.replace("{FOLDER}", str(tmp_path))) and error.count("\n") == 1


def test_sockets_are_looked_for_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Path] = []

    async def opened(*_: object, sockets: Path, **_more: object) -> Controller:
        found.append(sockets)
        raise UnavailableError("seen")

    monkeypatch.setattr(Controller, "open", opened)
    arguments = run_arguments(tmp_path, {})
    assert main([*arguments, "--sockets", "/run/mine"]) == 1
    assert found == [Path("/run/mine")]


def test_an_api_that_is_no_address_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(run_arguments(tmp_path, {"listen": "nowhere"})) == 2
    assert "argument --listen: 'nowhere' is no address; write HOST:PORT;" in capsys.readouterr().err


def test_a_port_in_use_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(run_arguments(tmp_path, {"listen": f"127.0.0.1:{port}"})) == 1
        error = capsys.readouterr().err
        assert (
            "address already in use; choose another address with --listen" in error and error.count("\n") == 1
        )
        with pytest.raises(ApiError):
            listen("127.0.0.1", port)


@pytest.mark.parametrize("stop", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_controller_runs_and_stops_cleanly(stop: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "groupflow.cli.main",
            *run_arguments(tmp_path, {"store": str(tmp_path / "s.db")}),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    ready = process.stdout.readline()
    assert ready.startswith("groupflow controller ready api=127.0.0.1:"), ready
    url = "http://" + ready.split("api=")[1].split()[0]
    assert main(["--api", url, "switch", "list"]) == 0
    process.send_signal(stop)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
