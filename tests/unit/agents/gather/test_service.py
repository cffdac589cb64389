"""A server over a stand-in for gfagent: it is tuned, read over REST, and stopped."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from groupflow.agents.gather.options import ServeOptions
from groupflow.agents.gather.service import GatherService
from groupflow.cli.main import main
from groupflow.control.api.gather import make_gather_app
from groupflow.control.events import Events
from groupflow.control.gather.clients import parse, token_hash
from groupflow.control.gather.gathering import Gathering
from groupflow.control.gather.policies import POLICIES
from groupflow.control.gather.tuner import Tuner
from groupflow.store.interface import MemoryStore
from tests.support import programs
from tests.support.gather import GOOD
from tests.support.tokens import token_file
from tests.support.waiting import until


def tunings(told: Path) -> list[Any]:
    """The orders that the stand-in has recorded."""
    return [json.loads(line) for line in told.read_text().splitlines()]


def in_effect(tuner: Tuner) -> bool:
    """Whether the server reports the windows that it was given."""
    return all(each.reading.window == tuner.settings[name].window for name, each in tuner.measured.items())


@asynccontextmanager
async def served() -> AsyncGenerator[tuple[GatherService, Gathering, httpx.AsyncClient]]:
    """A server that runs alone, with a list of clients."""
    gathering = Gathering(MemoryStore(), Events(), POLICIES, listed=parse(GOOD, "c"))
    async with GatherService(gathering, ServeOptions()) as service:
        await service.ready()
        transport = httpx.ASGITransport(app=make_gather_app(gathering))
        async with httpx.AsyncClient(transport=transport, base_url="http://x/v1") as client:
            yield service, gathering, client


async def test_rounds_lead_to_tunings_until_nothing_changes(told: Path) -> None:
    async with served() as (_, gathering, client):
        await until(lambda: len(tunings(told)) == 2 and in_effect(gathering.tuner))
        (cam1, cam2) = (await client.get("/gather/clients")).json()
        assert (cam1["name"], cam1["target_bps"], cam1["priority"]) == ("cam1", 1_000_000, 1)
        assert cam1["sending"] and cam1["rtt_ms"] == 100.0
        assert cam1["throughput_bps"] == pytest.approx(cam1["window"] * 80)
        assert cam1["window"] == pytest.approx(2 * cam2["window"], abs=3)
        show = (await client.get("/gather")).json()
        assert (show["policy"], show["clients"], show["sending"]) == ("sakajiri", 2, 2)
        assert 99_990 <= show["windows"] <= show["buffer"] == 100_000
        assert show["tuning_ms"] < 1000
    lines = tunings(told)
    assert len(lines) == 2 and "clients" in lines[0], "nothing changed after the first round with clients"
    assert {each["window"] for each in lines[0]["tune"]} == {1152}
    assert {each["client"] for each in lines[1]["tune"]} == {"cam1", "cam2"}


async def test_targets_change_while_clients_send(told: Path) -> None:
    async with served() as (_, gathering, client):
        await until(lambda: len(tunings(told)) == 2 and in_effect(gathering.tuner))
        body = {"target_bps": 4_000_000, "minimum_bps": None, "priority": 7}
        changed = (await client.patch("/gather/clients/cam2", json=body)).json()
        assert (changed["target_bps"], changed["minimum_bps"], changed["priority"]) == (4_000_000, None, 7)
        await until(lambda: len(tunings(told)) >= 3)
        windows = {e["client"]: e["window"] for e in tunings(told)[2]["tune"]}
        assert windows["cam2"] == pytest.approx(4 * windows["cam1"], abs=5)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "error"),
    [
        ("GET", "/gather/clients/x", None, 404, "no client 'x'; list the clients"),
        ("PATCH", "/gather/clients/cam1", {"target_bps": 0}, 422, "target_bps: input should be greater"),
        ("PATCH", "/gather/clients/cam1", {"target_bps": 20_000_000}, 400, "target_bps: 20mbit is beyond"),
        ("PATCH", "/gather/clients/cam1", {"minimum_bps": 2_000_000}, 400, "minimum_bps: 2mbit is above"),
        ("PATCH", "/gather/clients/cam1", {"tokn": 1}, 422, "tokn: extra inputs are not permitted"),
    ],
)
async def test_errors_are_one_clear_line(
    told: Path, method: str, path: str, body: dict[str, Any] | None, status: int, error: str
) -> None:
    async with served() as (_, _, client):
        answer = await client.request(method, path, json=body)
        assert (answer.status_code, answer.json()["error"].startswith(error)) == (status, True), answer.text


async def test_tokens_are_in_no_argument_file_or_message(told: Path) -> None:
    async with served() as (service, _, client):
        await until(lambda: bool(tunings(told)))
        said = [*service.agent.options.arguments(), str(tunings(told)), (await client.get("/gather")).text]
        said.append((await client.get("/gather/clients")).text)
    assert not [text for text in said if "c0ffee" in text or "decade" in text]
    (first, *_) = tunings(told)
    assert (first["buffer"], first["max_connections"]) == (100_000, 16)
    assert first["clients"][0] == {"client": "cam1", "token_sha256": token_hash("c0ffee")}


async def test_a_refused_message_is_repeated_and_told(told: Path) -> None:
    async with served() as (_, gathering, client):
        await until(lambda: len(gathering.tuner.measured) == 2)
        new = {"name": "unwanted", "token_sha256": token_hash("c3"), "target_bps": 10**6}
        assert (await client.post("/gather/clients", json=new)).status_code == 201
        await until(lambda: gathering.tuner.problem is not None)
        problem = "the server refused: request.clients must be fewer"
        assert (await client.get("/gather")).json()["problem"] == problem
        assert (await client.delete("/gather/clients/unwanted")).status_code == 204
        await until(lambda: gathering.tuner.problem is None)
        assert len(gathering.tuner.measured) == 2


def test_send_passes_everything_on(told: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.bin"
    file.write_bytes(b"hello")
    line = [
        "gather",
        "send",
        "--to",
        "10.0.0.1:26490",
        "--client",
        "cam1",
        "--token-file",
        token_file("c0ffee"),
    ]
    assert main([*line, "--plain", "--file", str(file), "--congestion", "reno", "--duration", "5s"]) == 0
    said = json.loads(told.read_text())
    assert said["token"] == "c0ffee"
    assert said["arguments"] == [
        "gather-send", "--client", "cam1", "--to", "10.0.0.1:26490", "--file", str(file),
        "--duration", "5", "--congestion", "reno", "--json", "--plain",
    ]  # fmt: skip
    assert capfd.readouterr().err == "gather: complete, 5 bytes in 1.00 s\n"


@pytest.mark.parametrize(
    ("said", "passed"),
    [
        (["--tls-pin", 32 * "ab"], ["--tls-pin", 32 * "ab"]),
        (["--tls-ca", "ca.pem", "--tls-name", "hub"], ["--tls-ca", "ca.pem", "--tls-name", "hub"]),
        (["--plain"], ["--plain"]),
        ([], ["--tls-pin", 32 * "cd"]),
    ],
)
def test_how_the_server_is_known(
    told: Path, said: list[str], passed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUPFLOW_TLS_PIN", 32 * "cd")
    monkeypatch.setattr("groupflow.cli.gather.check_pem", lambda *_: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    line = [
        "gather",
        "send",
        "--to",
        "10.0.0.1:26490",
        "--client",
        "cam1",
        "--token-file",
        token_file("c0ffee"),
    ]
    assert main([*line, *said]) == 0
    assert [word for word in json.loads(told.read_text())["arguments"][5:] if word != "--json"] == passed


def test_a_fingerprint_that_is_none_is_refused(told: Path, capfd: pytest.CaptureFixture[str]) -> None:
    line = ["gather", "send", "--to", "10.0.0.1:26490", "--client", "cam1", "--tls-pin", "ab12"]
    assert main(line) == 2
    assert capfd.readouterr().err == "groupflow: --tls-pin ab12: it must be 64 hexadecimal digits\n"


def test_nothing_goes_unencrypted_unless_it_is_said(told: Path, capfd: pytest.CaptureFixture[str]) -> None:
    line = [
        "gather",
        "send",
        "--to",
        "10.0.0.1:26490",
        "--client",
        "cam1",
        "--token-file",
        token_file("c0ffee"),
    ]
    assert main(line) == 2
    error = capfd.readouterr().err
    assert error.startswith("groupflow: no way to check the server: pass") and error.count("\n") == 1


@pytest.mark.parametrize(
    ("tls", "arguments"),
    [(None, ["--plain"]), ((Path("a.crt"), Path("a.key")), ["--tls-cert", "a.crt", "--tls-key", "a.key"])],
)
def test_a_server_encrypts_with_a_certificate(tls: tuple[Path, Path] | None, arguments: list[str]) -> None:
    said = ServeOptions(max_clients=2, tls=tls).arguments()
    assert said[-1 - len(arguments) :] == [*arguments, "--discard"]


def test_a_refused_client_is_told_in_one_line(told: Path, capfd: pytest.CaptureFixture[str]) -> None:
    line = [
        "gather",
        "send",
        "--to",
        "10.0.0.1:26490",
        "--client",
        "nobody",
        "--token-file",
        token_file("c0ffee"),
        "--plain",
    ]
    assert main(line) == 4
    assert capfd.readouterr().err == "groupflow: the server knows no client nobody; add it\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--policy", "best"], 4, "--policy best: unknown; the policies are sakajiri, buffer"),
        (["--tls-key", "k"], 2, "--tls-cert and --tls-key go together: name both, or neither"),
        (["--plain", "--tls-cert", "c", "--tls-key", "k"], 2, "--plain and --tls-cert exclude each other"),
        (["--rest", "here"], 2, "--rest: 'here' is no address; write HOST:PORT"),
        (["--rest", "0.0.0.0:0"], 2, "--rest 0.0.0.0: it is not encrypted; write 127.0.0.1:0"),
        (["--clients", "none.yaml"], 4, "none.yaml: no such file or directory"),
        (["--api", "http://x:1"], 2, "--clients and --api exclude each other; leave one out"),
        (["--max-clients", "0"], 2, "--max-clients: '0' will not do; write a whole number from 1 on"),
        (["--policy-file", "none.py"], 4, "none.py: no such file or directory"),
    ],
)
def test_serve_refuses_in_one_line(
    told: Path, tmp_path: Path, arguments: list[str], code: int, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    clients = tmp_path / "clients.yaml"
    clients.write_text(GOOD)
    assert main(["gather", "serve", "--clients", str(clients), "--discard", *arguments]) == code
    error = capfd.readouterr().err
    assert said in error and error.count("\n") == 1


@pytest.mark.slow
async def test_serve_listens_for_the_clients_of_a_list(tmp_path: Path) -> None:
    clients = tmp_path / "clients.yaml"
    clients.write_text(GOOD)
    where = ("--listen", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--plain", "--json")
    async with programs.running("gather", "serve", "--clients", str(clients), "--discard", *where) as server:
        await programs.until("the server listens", lambda: "ready" in server.events)
        assert server.events["ready"]["port"] > 0
