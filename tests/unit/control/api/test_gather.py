"""Tuning by a controller: settings, clients, policy over REST and as commands, and what a restart leaves."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from groupflow.agents.gather.options import ServeOptions
from groupflow.agents.gather.service import ControllerDirector, GatherService
from groupflow.control.api.gather import gather_routes, round_routes
from groupflow.control.api.schemas import answer_errors_in_one_line
from groupflow.control.api.server import listen, serve_app
from groupflow.control.events import Events
from groupflow.control.gather.clients import token_hash
from groupflow.control.gather.gathering import Gathering
from groupflow.control.gather.policies import POLICIES
from groupflow.store.interface import MemoryStore, Store, StoreError
from tests.support.api import command, served
from tests.support.waiting import until
from tests.support.world import Clock
from tests.unit.agents.gather.test_service import tunings

LIMITS = {"link_bps": 10**7, "buffer": 100_000}
CAM1 = {"name": "cam1", "token_sha256": token_hash("c0ffee"), "target_bps": 10**6, "priority": 1}
CAM2 = {"name": "cam2", "token_sha256": token_hash("decade"), "target_bps": 5 * 10**5, "minimum_bps": 10**5}


def make(store: Store, clock: Callable[[], float] = time.monotonic) -> tuple[Gathering, FastAPI]:
    """A controller's part for tuning, over a store."""
    gathering = Gathering(store, Events(), POLICIES, clock=clock)
    app = FastAPI()
    app.include_router(gather_routes(gathering), prefix="/v1")
    app.include_router(round_routes(gathering), prefix="/v1")
    answer_errors_in_one_line(app)
    return gathering, app


@asynccontextmanager
async def at_a_port(app: FastAPI, port: int = 0) -> AsyncGenerator[str]:
    """Serves an application. Yields its URL."""
    with listen("127.0.0.1", port) as listener:
        serving = asyncio.create_task(serve_app(app, listener))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


async def call(url: str, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    async with httpx.AsyncClient(base_url=f"{url}/v1", trust_env=False, headers=headers) as client:
        answer = await client.request(method, path, json=body)
    return answer.status_code, answer.json() if answer.content else None


async def fill(url: str) -> None:
    """Sets the limits and adds two clients."""
    assert (await call(url, "PATCH", "/gather", LIMITS))[0] == 200
    for client in (CAM1, CAM2):
        assert (await call(url, "POST", "/gather/clients", client))[0] == 201


@pytest.mark.slow
async def test_all_of_it_is_there_again_after_a_restart() -> None:
    store = MemoryStore()
    async with at_a_port(make(store)[1]) as url:
        await fill(url)
        await call(url, "PATCH", "/gather", {"policy": "climber", "connections": 8})
        await call(url, "PATCH", "/gather/clients/cam2", {"target_bps": 4 * 10**6, "minimum_bps": None})
        await call(url, "POST", "/gather/clients", CAM1 | {"name": "gone"})
        assert (await call(url, "DELETE", "/gather/clients/gone"))[0] == 204
        before = [(await call(url, "GET", path))[1] for path in ("/gather", "/gather/clients")]
    gathering, app = make(store)
    await gathering.restore()
    async with at_a_port(app) as url:
        after = [(await call(url, "GET", path))[1] for path in ("/gather", "/gather/clients")]
    assert before == after
    assert (after[0]["policy"], after[0]["connections"], after[0]["server"]) == ("climber", 8, "away")
    assert [(c["name"], c["target_bps"], c["minimum_bps"]) for c in after[1]] == [
        ("cam1", 10**6, None),
        ("cam2", 4 * 10**6, None),
    ]
    assert gathering.tuner.registered["cam1"].token_sha256 == token_hash("c0ffee")


async def test_a_policy_whose_file_is_not_named_again_is_missed() -> None:
    store = MemoryStore()
    gathering = Gathering(store, Events(), {**POLICIES, "mine": POLICIES["none"]})
    await gathering.configure(policy="mine")
    with pytest.raises(StoreError, match="the policy 'mine' is not loaded; name its file with --policy-file"):
        await make(store)[0].restore()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "path", "body", "status", "error"),
    [
        ("GET", "/gather/clients/x", None, 404, "no client 'x'; list the clients"),
        ("DELETE", "/gather/clients/x", None, 404, "no client 'x'; list the clients"),
        ("PATCH", "/gather/clients/x", {"priority": 1}, 404, "no client 'x'; list the clients"),
        ("GET", "/gather/clients/a%3Fb", None, 404, "no client 'a?b'; list the clients"),
        ("PATCH", "/gather/clients/cam1", {"target_bps": 0}, 422, "target_bps: input should be greater"),
        ("PATCH", "/gather/clients/cam1", {"target_bps": 2 * 10**7}, 400, "target_bps: 20mbit is beyond"),
        ("POST", "/gather/clients", CAM1, 409, "client 'cam1' is there already; change it, or remove"),
        ("POST", "/gather/clients", CAM1 | {"name": "../x"}, 422, "name: '../x' will not do; write 1 to"),
        ("POST", "/gather/clients", CAM1 | {"token": "c0ffee"}, 422, "token: extra inputs are not"),
        (
            "POST", "/gather/clients", CAM1 | {"name": "c", "token_sha256": "c0ffee"}, 422,
            "token_sha256: what was given will not do; write 64 hexadecimal digits",
        ),
        ("PATCH", "/gather", {"policy": "best"}, 400, "policy: 'best' is unknown; the policies are sak"),
        ("PATCH", "/gather", {"policy": "/tmp/x.py"}, 400, "policy: '/tmp/x.py' is unknown"),
        ("PATCH", "/gather", {"policy_file": "/tmp/x.py"}, 422, "policy_file: extra inputs are not"),
        ("PATCH", "/gather", {"buffer": 2000}, 400, "buffer: 2000 bytes are too few for 2 clients"),
        ("PATCH", "/gather", {"link_bps": 10**5}, 400, "link_bps: client cam1 has the target 1mbit"),
        ("PATCH", "/gather", {"connections": 65}, 422, "connections: input should be less than or equal"),
        ("POST", "/gather/rounds", {"started": 1}, 422, "repeat: field required"),
        (
            "POST", "/gather/rounds", {"started": 1, "repeat": True, "clients": [{"client": 7}]}, 422,
            "round.clients[0].client: 7 is no name",
        ),
    ],
)  # fmt: skip
async def test_errors_are_one_clear_line_and_change_nothing(
    method: str, path: str, body: Any, status: int, error: str
) -> None:
    gathering, app = make(MemoryStore())
    async with at_a_port(app) as url:
        await fill(url)
        before = (gathering.settings, dict(gathering.tuner.registered))
        code, said = await call(url, method, path, body)
        assert (code, said["error"].startswith(error)) == (status, True), said
        assert "\n" not in said["error"] and "c0ffee" not in said["error"]
    assert (gathering.settings, gathering.tuner.registered) == before


async def test_clients_need_limits_first() -> None:
    async with at_a_port(make(MemoryStore())[1]) as url:
        status, said = await call(url, "POST", "/gather/clients", CAM1)
        assert status == 409 and said["error"].endswith("run `groupflow gather set`")


@pytest.mark.slow
async def test_a_server_started_later_takes_over_and_a_silent_one_is_away() -> None:
    clock = Clock()
    gathering, app = make(MemoryStore(), clock=clock)
    async with at_a_port(app) as url:
        await fill(url)

        async def measure(started: int) -> tuple[int, Any]:
            return await call(url, "POST", "/gather/rounds", {"started": started, "repeat": False})

        assert (await measure(5))[1]["message"]["clients"]
        assert await measure(5) == (200, {"message": None})
        assert (await measure(6))[1]["message"]["clients"], "a new process knows nothing"
        assert (await measure(5))[0] == 409
        clock.now += 10
        assert (gathering.server, (await measure(5))[0], gathering.server) == ("away", 200, "up")


@pytest.mark.slow
async def test_a_server_measures_and_obeys_and_outlives_its_controller(
    told: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The controller ends, and starts again at the same port with the same store."""
    caplog.set_level(logging.WARNING, "groupflow")
    store = MemoryStore()
    gathering, app = make(store)
    async with at_a_port(app) as url:
        await fill(url)
        port = int(url.rpartition(":")[2])
        director = await ControllerDirector(url).__aenter__()
        service = await GatherService(director, ServeOptions()).__aenter__()
        try:
            tuner = gathering.tuner
            await until(lambda: len(tuner.measured) == 2 and tuner.measured["cam1"].reading.window != 1152)
            await call(url, "POST", "/gather/clients", CAM1 | {"name": "cam3"})
            await call(url, "DELETE", "/gather/clients/cam2")
            await until(lambda: tuner.measured.keys() == {"cam1", "cam3"})
            await call(url, "PATCH", "/gather", {"policy": "none"})
            await until(lambda: all(each.reading.window is None for each in tuner.measured.values()))
            _, show = await call(url, "GET", "/gather")
            assert (show["server"], show["sending"], show["policy"]) == ("up", 2, "none")
        except BaseException:
            await service.__aexit__(None, None, None)
            raise
    try:
        await until(lambda: len(caplog.records) == 1)
        rounds = service.agent.latest["round"].integer("round")
        await until(lambda: service.agent.latest["round"].integer("round") > rounds + 5)
        ordered = len(tunings(told))
        again, app = make(store)
        await again.restore()
        async with at_a_port(app, port):
            await until(lambda: again.tuner.measured.keys() == {"cam1", "cam3"})
            await until(lambda: len(caplog.records) == 2 and len(tunings(told)) > ordered)
            first = tunings(told)[ordered]
            assert [each["client"] for each in first["clients"]] == ["cam1", "cam3"], "all is told again"
    finally:
        await service.__aexit__(None, None, None)
        await director.__aexit__(None, None, None)
    away, back = (record.getMessage() for record in caplog.records[:2])
    assert away.startswith(f"no controller at http://127.0.0.1:{port} (") and "last settings" in away
    assert back == "the server gets settings again"
    assert "c0ffee" not in str(tunings(told)) + caplog.text


async def test_what_is_no_controller_is_told(told: Path, caplog: pytest.LogCaptureFixture) -> None:
    other = FastAPI()
    other.add_api_route("/v1/gather/rounds", lambda: {"message": 3}, methods=["POST"])
    async with (
        at_a_port(other) as url,
        ControllerDirector(url) as director,
        GatherService(director, ServeOptions()),
    ):
        await until(lambda: len(caplog.records) == 1)
    assert "does not answer as a controller does; correct --api" in caplog.text


@pytest.mark.slow
async def test_the_command_adds_changes_and_removes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with served() as (w, client, url):
        registered = w.running.gathering.tuner.registered
        assert await command(url, "client", "create", "cam1", "--target", "1mbit") == 4
        assert "run `groupflow gather set`" in capsys.readouterr().err
        line = ("gather", "set", "--link", "10mbit", "--buffer", "100000", "--policy", "buffer")
        assert await command(url, *line) == 0
        assert "policies     sakajiri,buffer" in capsys.readouterr().out
        assert await command(url, "client", "create", "cam1", "--target", "1mbit", "--json") == 0
        token = json.loads(capsys.readouterr().out)["token"]
        assert registered["cam1"].token_sha256 == token_hash(token)
        (tmp_path / "token").write_text("C0ffee\n")
        words = ("--target", "500kbit", "--minimum", "100kbit", "--token-file", str(tmp_path / "token"))
        assert await command(url, "client", "create", "cam2", *words) == 0
        assert registered["cam2"].token_sha256 == token_hash("c0ffee")
        assert await command(url, "client", "set", "cam2", "--target", "2mbit", "--minimum", "none") == 0
        assert (registered["cam2"].client.target, registered["cam2"].client.minimum) == (2 * 10**6, None)
        shown = capsys.readouterr().out
        assert ["name", "cam2"] in [line.split() for line in shown.splitlines()]
        assert await command(url, "client", "set", "cam2", "--priority", "7", "--json") == 0
        assert json.loads(capsys.readouterr().out)["priority"] == 7
        shown += (await client.get("/gather/clients")).text
        assert "c0ffee" not in shown and token not in shown
        assert await command(url, "client", "delete", "cam1") == 0 and list(registered) == ["cam2"]
        (tmp_path / "token").write_text("coffee")
        assert await command(url, "client", "create", "cam3", *words) == 4
        assert capsys.readouterr().err.endswith("no token; write 1 to 255 hexadecimal digits\n")
        (tmp_path / "token").unlink()
        assert await command(url, "client", "create", "cam3", *words) == 4


@pytest.mark.slow
async def test_the_status_is_one_screen_of_the_whole_system(capsys: pytest.CaptureFixture[str]) -> None:
    async with served() as (w, client, url):
        gathering = w.running.gathering
        await gathering.configure(link=10**7, buffer=100_000)
        for number in range(12):
            body = CAM1 | {"name": f"cam{number}", "priority": number}
            assert (await client.post("/gather/clients", json=body)).status_code == 201
        rows = [
            {
                "client": f"cam{number}", "throughput_bps": rate, "rtt_ms": 100.0, "server_rtt_ms": 100.0,
                "rto_ms": None, "window": 1152, "connections": 1, "loss_ratio": 0.0,
            }
            for number, rate in ((3, 1_500_000), (4, 900_000), (5, 800_000))
        ]  # fmt: skip
        body = {"started": 1, "repeat": True, "round": 1, "clients": rows}
        assert (await client.post("/gather/rounds", json=body)).status_code == 200
        flow = {"kind": "flow", "src": "h1", "dst": "h4", "measure": False}
        assert (await client.post("/diffusion", json=flow)).status_code == 201
        assert await command(url, "controller", "show") == 0
        page = capsys.readouterr().out
        assert len(page.splitlines()) <= 50
        assert page.startswith("controller ok, up for ")
        assert "3 of 3 switches up" in page and "h1 h2 h3" in page and "its own" in page
        assert "h1 to h4" in page
        assert "3 of 12 clients send, targets met: 1" in page and "server up" in page
        names = [line.split()[0] for line in page.splitlines() if line.startswith("cam")]
        assert names[:4] == ["cam5", "cam4", "cam3", "cam11"] and len(names) == 8
        assert "... and 4 more: groupflow client list" in page
        assert await command(url, "controller", "show", "--json") == 0
        found = json.loads(capsys.readouterr().out)
        assert [each["state"] for each in found["switches"]] == ["up"] * 3
        assert found["tuning"]["clients"] == 12 and len(found["clients"]) == 12
        assert found["agents"][0]["holds"]["bytes"] == 0
