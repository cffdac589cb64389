"""A controller passes on the answers of a server that gathers; here over a stand-in for gfagent."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from groupflow.cli.main import main
from groupflow.control.api.gather import make_gather_app
from groupflow.control.api.gather_proxy import gather_proxy_routes
from groupflow.control.api.rest import answer_errors_in_one_line
from groupflow.control.api.server import listen, serve_app
from groupflow.endpoint.gather.clients import parse
from groupflow.endpoint.gather.options import ServeOptions
from groupflow.endpoint.gather.service import GatherService
from groupflow.tuning.policies import POLICIES
from tests.support.gather import GOOD
from tests.support.waiting import until


@asynccontextmanager
async def at_a_port(app: FastAPI) -> AsyncGenerator[str]:
    """Serves an application. Yields its URL."""
    with listen("127.0.0.1", 0) as listener:
        serving = asyncio.create_task(serve_app(app, listener))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


def controllers_api(server: str | None) -> FastAPI:
    """A controller's API for that server."""
    app = FastAPI()
    app.include_router(gather_proxy_routes(server), prefix="/v1")
    answer_errors_in_one_line(app)
    return app


async def call(url: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    async with httpx.AsyncClient(base_url=f"{url}/v1", trust_env=False) as client:
        answer = await client.request(method, path, json=body)
    return answer.status_code, answer.json()


@asynccontextmanager
async def passed_on() -> AsyncGenerator[tuple[GatherService, str, str]]:
    """A server that has measured its clients, its URL, and that of a controller."""
    service = GatherService(parse(GOOD, "c"), POLICIES["sakajiri"], ServeOptions(clients=Path("unused")))
    async with service:
        await service.ready()
        await until(lambda: len(service.tuner.measured) == 2)
        async with (
            at_a_port(make_gather_app(service.tuner, "sakajiri")) as direct,
            at_a_port(controllers_api(direct)) as url,
        ):
            yield service, direct, url


async def test_a_controller_shows_and_changes_what_the_server_has(told: Path) -> None:
    async with passed_on() as (service, direct, url):
        there = await call(direct, "GET", "/gather/clients")
        listed, one = (
            await call(url, "GET", "/gather/clients"),
            await call(url, "GET", "/gather/clients/cam1"),
        )
        assert there[0] == listed[0] == one[0] == 200
        assert [each["name"] for each in listed[1]] == [each["name"] for each in there[1]] == ["cam1", "cam2"]
        for cam1 in (listed[1][0], one[1]):
            assert (cam1["name"], cam1["sending"], cam1["rtt_ms"]) == ("cam1", True, 100.0)
        _, show = await call(url, "GET", "/gather")
        assert (show["policy"], show["clients"], show["buffer"]) == ("sakajiri", 2, 100_000)
        body = {"target_bps": 4_000_000, "minimum_bps": None}
        status, changed = await call(url, "PATCH", "/gather/clients/cam2", body)
        assert (status, changed["target_bps"], changed["minimum_bps"]) == (200, 4_000_000, None)
        cam2 = service.tuner.clients["cam2"]
        assert (cam2.target, cam2.minimum, cam2.priority) == (4_000_000, None, 0)


async def test_ctl_asks_the_controller(told: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async with passed_on() as (_, _direct, url):
        assert await asyncio.to_thread(main, ["ctl", "--api", url, "gather", "list", "--json"]) == 0
    assert [each["name"] for each in json.loads(capfd.readouterr().out)] == ["cam1", "cam2"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "error"),
    [
        ("GET", "/gather/clients/x", None, 404, "no client 'x'; list the clients"),
        ("GET", "/gather/clients/a%3Fb", None, 404, "no client 'a?b'; list the clients"),
        ("PATCH", "/gather/clients/cam1", {"target_bps": 0}, 422, "target_bps: input should be greater"),
        ("PATCH", "/gather/clients/cam1", {"target_bps": 20_000_000}, 400, "target_bps: 20000000 is beyond"),
    ],
)
async def test_the_servers_errors_are_the_controllers(
    told: Path, method: str, path: str, body: Any, status: int, error: str
) -> None:
    async with passed_on() as (_, _direct, url):
        code, said = await call(url, method, path, body)
    assert (code, said["error"].startswith(error)) == (status, True), said


async def test_no_server_no_answer_and_another_server_are_told_apart() -> None:
    async with at_a_port(controllers_api(None)) as url:
        status, said = await call(url, "GET", "/gather")
        assert (status, said["error"].partition(";")[0]) == (404, "no server that gathers is known")
    # Nobody is at the port of one that has ended.
    async with at_a_port(controllers_api(url)) as over:
        status, said = await call(over, "GET", "/gather")
        assert status == 502 and said["error"].startswith(f"no server that gathers at {url} (")
    other = FastAPI()
    other.add_api_route("/v1/gather", lambda: {"policy": 3})
    async with at_a_port(other) as strange, at_a_port(controllers_api(strange)) as url:
        for path in ("/gather", "/gather/clients"):
            status, said = await call(url, "GET", path)
            assert (status, "does not answer as a server that gathers" in said["error"]) == (502, True)


@pytest.mark.parametrize("url", ["here", "10.0.0.1:9590", "http://10.0.0.1:9590/v1", "ftp://x"])
def test_a_controller_refuses_what_is_no_url(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["controller", "run", "--topology", "t.yaml", "--gather", url]) == 2
    assert f"{url!r} is no URL; write one like http://10.0.0.1:9590" in capfd.readouterr().err
