"""Access to the REST API, tried as an attacker would."""

import asyncio
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from groupflow.agents import api_token
from groupflow.agents.controller_link import ControllerLink
from groupflow.agents.errors import ClientError
from groupflow.cli.main import main
from groupflow.control.api import server
from groupflow.control.api.access import BODY, Guard
from groupflow.control.api.rest import make_app
from groupflow.control.api.server import listen, listen_privately, names_of, serve_app
from groupflow.control.live.recording import Recorder
from groupflow.errors import Error, UnavailableError
from tests.support.api import command, served
from tests.support.world import world

pytestmark = pytest.mark.slow

BEARER = {"Authorization": "Bearer c0ffee"}
REPORT = {
    "kind": "hub", "name": "h", "at": "10.0.0.1:1", "holds": {"bytes": 1}, "bounds": {"rate_bps": 1},
    "started": 1,
}  # fmt: skip


@pytest.mark.slow
async def test_only_the_token_lets_in_and_commands_of_its_owner_find_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served() as (_, known, url):
        async with httpx.AsyncClient(base_url=url, trust_env=False) as stranger:
            for path in ("/", "/v1/sessions", "/v1/sessions/7/tokens", "/openapi.json", "/docs", "/nowhere"):
                answer = await stranger.get(path)
                assert answer.status_code == 401 and "set GROUPFLOW_API_TOKEN" in answer.json()["error"], path
            assert (await stranger.delete("/v1/sessions/7")).status_code == 401
            for wrong in ("Bearer c0ffee", "bearer x", "Basic x", "Bearer " + "\u00e9"):
                headers = [(b"Authorization", wrong.encode("latin-1"))]
                assert (await stranger.get("/v1/sessions", headers=headers)).status_code in (401, 403), wrong
        assert (await known.get("/sessions/7")).status_code == 200
        assert await command(url, "session", "list") == 0
        assert await command(url.replace("127.0.0.1", "localhost"), "session", "list") == 0
        monkeypatch.setenv(api_token.VARIABLE, "c0ffee")
        assert await command(url, "session", "list") == 4
        assert "the token is wrong; set GROUPFLOW_API_TOKEN" in capsys.readouterr().err


async def test_a_name_that_was_made_to_lead_here_is_refused() -> None:
    async with served() as (_, known, url):
        port = url.rpartition(":")[2]
        for host, status in (
            ("evil.example", 421), (f"127.0.0.1.evil.example:{port}", 421), ("", 421), ("[::1", 421),
            (f"localhost:{port}", 200), (f"127.0.0.1:{port}", 200), ("[::1]:80", 200),
        ):  # fmt: skip
            answer = await known.get("/sessions", headers={"Host": host})
            assert answer.status_code == status, host


async def test_a_browser_gets_in_once_by_the_address_and_then_by_its_cookie() -> None:
    async with served() as (_, known, url):
        token = known.headers["Authorization"].removeprefix("Bearer ")
        async with httpx.AsyncClient(base_url=url, trust_env=False) as browser:
            wrong = await browser.get("/?token=c0ffee")
            assert wrong.status_code == 403 and "set-cookie" not in wrong.headers
            came = await browser.get(f"/?token={token}")
            assert (came.status_code, came.headers["location"]) == (303, "/")
            cookie = came.headers["set-cookie"]
            assert "HttpOnly" in cookie and "SameSite=strict" in cookie, cookie
            assert (await browser.get("/v1/sessions")).status_code == 200
            # A page at another port of this host is of the same site, and the cookie comes with its requests.
            path, foreign = "/v1/sessions/7", {"Origin": "http://127.0.0.1:1"}
            assert (await browser.delete(path, headers=foreign)).status_code == 403
            assert (await browser.delete(path, headers={"Origin": url})).status_code == 204


async def test_the_token_of_agents_is_for_their_reports_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(agents="let-me-in") as (_, _, url):
        async with httpx.AsyncClient(base_url=f"{url}/v1", trust_env=False) as agent:
            agent.headers["Authorization"] = "Bearer let-me-in"
            assert (await agent.post("/agents/reports", json=REPORT)).status_code == 200
            assert (await agent.get("/sessions")).status_code == 403
            agent.headers["Authorization"] = "Bearer c0ffee"
            answer = await agent.post("/agents/reports", json=REPORT)
            assert answer.status_code == 403 and "set GROUPFLOW_AGENT_TOKEN" in answer.json()["error"]
        async with ControllerLink(url) as link:  # of the same user: it finds the API's own
            assert await link.post("/agents/reports", REPORT)
        async with ControllerLink(url, "c0ffee") as link:
            with pytest.raises(UnavailableError, match="the token is wrong"):
                await link.post("/agents/reports", REPORT)


async def test_the_file_of_the_token_is_its_owners_and_goes_with_the_api(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "groupflow/api"
    monkeypatch.setattr(api_token, "_folder", lambda: folder)
    old = os.umask(0)
    try:
        with api_token.published(["http://0.0.0.0:1234"]) as token:
            (file,) = folder.iterdir()
            assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
            assert api_token.find("http://localhost:1234/") == token and len(token) == 64
            assert api_token.find("http://127.0.0.1:1235") is None, "a token is shown to no other API"
            assert api_token.find("http://10.0.0.1:1234") is None
            file.chmod(0o644)
            assert api_token.find("http://127.0.0.1:1234") is None, "others may have written or read it"
        assert not list(folder.iterdir())
        with (
            pytest.raises(ValueError, match="Port"),
            api_token.published(["http://0.0.0.0:1", "http://0.0.0.0:x"]),
        ):
            pass
        assert not list(folder.iterdir()), "the first file goes when the second cannot be written"
        folder.chmod(0o755)
        with pytest.raises(Error, match="chmod 700"):
            api_token.keep("http://127.0.0.1:1", "x")
    finally:
        os.umask(old)


@pytest.mark.parametrize("url", ["http://10.0.0.9:9580", "http://ctl.example.org:9580"])
def test_a_token_goes_unencrypted_to_another_machine_only_where_that_is_asked_for(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(api_token.VARIABLE, "c0ffee")
    with pytest.raises(ClientError, match=r"could read the token on its way; write https://"):
        api_token.headers(url)
    assert main(["--api", url, "controller", "show"]) == 1
    assert "write https://, or set GROUPFLOW_API_INSECURE=1" in capsys.readouterr().err
    monkeypatch.setenv(api_token.INSECURE, "1")
    assert api_token.headers(url) == {"Authorization": "Bearer c0ffee"}


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "https://10.0.0.9:1"]
)
def test_a_token_goes_where_others_cannot_read_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(api_token.VARIABLE, "c0ffee")
    assert api_token.headers(url) == {"Authorization": "Bearer c0ffee"}


async def test_an_agent_shows_its_token_to_no_distant_controller_unencrypted() -> None:
    link = ControllerLink("http://10.0.0.9:9580", "c0ffee")
    with pytest.raises(ClientError, match="GROUPFLOW_API_INSECURE"):
        await link.__aenter__()


@asynccontextmanager
async def at_unix_socket(path: Path) -> AsyncGenerator[None]:
    async with world() as w:
        with listen_privately(path) as listener:
            serving = asyncio.create_task(serve_app(Guard(make_app(w.running), "c0ffee"), listener))
            try:
                yield
            finally:
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)


async def test_a_unix_socket_needs_no_token(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    async with at_unix_socket(path):
        assert path.stat().st_mode & 0o777 == 0o600
        assert await command(f"unix:{path}", "session", "list") == 0
    with listen_privately(path):  # the one before is dead
        pass


async def test_what_a_client_asked_that_has_left_is_not_done(tmp_path: Path) -> None:
    """As while no controller ran: the kernel keeps its connections, with what they asked for."""
    ask = b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    ask += b"Content-Length: 2\r\n\r\n{}"
    path = tmp_path / "api.sock"
    async with world() as w:
        with listen_privately(path) as listener, socket.socket(socket.AF_UNIX) as patient:
            for _ in range(3):
                with socket.socket(socket.AF_UNIX) as leaving:
                    leaving.connect(str(path))
                    leaving.sendall(ask)
            patient.connect(str(path))
            patient.sendall(ask)
            patient.setblocking(False)
            serving = asyncio.create_task(serve_app(Guard(make_app(w.running), "c0ffee"), listener))
            async with asyncio.timeout(10):
                answer = await asyncio.get_running_loop().sock_recv(patient, 1 << 16)
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        assert b" 201 " in answer
        assert len(w.running.manager.sessions) == 1


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="groupflow-socket-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
async def test_another_user_is_not_let_in_at_a_socket_that_is_open_to_all(open_folder: Path) -> None:
    path = open_folder / "api.sock"
    async with at_unix_socket(path):
        path.chmod(0o666)
        stranger = (
            "import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(10); s.connect(sys.argv[1]);"
            "s.sendall(b'GET /v1/sessions HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n'); print(s.recv(99))"
        )
        done = await asyncio.to_thread(
            subprocess.run, ["/usr/bin/python3", "-c", stranger, str(path)], user=65534, group=65534,
            capture_output=True, text=True, env={},
        )  # fmt: skip
        refused = done.stdout == "b''\n" or re.search("ConnectionResetError|BrokenPipeError", done.stderr)
        assert refused, done


@pytest.mark.parametrize("words", [(), ("--tls-cert", "x.pem")])
def test_an_address_beyond_this_machine_wants_tls(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["controller", "run", "--topology", "star", "--listen", "0.0.0.0:0", *words]
    assert main(run) == 2
    said = capsys.readouterr().err
    assert ("go together" if words else "other machines reach it; pass --tls-cert") in said, said


def certificate(folder: Path, names: str = "IP:127.0.0.1") -> tuple[Path, Path]:
    key, cert = folder / "key.pem", folder / "cert.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    make += ["-keyout", str(key), "-out", str(cert), "-days", "1", "-subj", "/CN=x"]
    subprocess.run([*make, "-addext", f"subjectAltName={names}"], check=True, capture_output=True)
    return cert, key


async def test_over_https_the_certificate_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cert, key = certificate(tmp_path)
    async with world() as w:
        with listen("127.0.0.1", 0) as listener:
            guard = Guard(make_app(w.running), "c0ffee")
            serving = asyncio.create_task(serve_app(guard, listener, tls=(cert, key)))
            url = f"https://127.0.0.1:{listener.getsockname()[1]}"
            monkeypatch.setenv(api_token.VARIABLE, "c0ffee")
            try:
                assert await command(url, "session", "list") == 1, "nobody vouches for the certificate"
                monkeypatch.setenv("GROUPFLOW_API_CA", str(cert))
                assert await command(url, "session", "list") == 0
            finally:
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)


async def test_the_names_of_the_certificate_are_the_apis(tmp_path: Path) -> None:
    tls = certificate(tmp_path, "DNS:ctl.example.org,DNS:*.lab.example.org,IP:192.0.2.1")
    assert names_of(tls) == ["ctl.example.org", "*.lab.example.org"]
    assert names_of(None) == names_of((tls[1], tls[0])) == names_of((tmp_path / "none", tls[1])) == []
    async with world() as w:
        transport = httpx.ASGITransport(Guard(make_app(w.running), "c0ffee", names=names_of(tls)))
        async with httpx.AsyncClient(transport=transport, headers=BEARER) as client:
            for host, status in (
                ("ctl.example.org", 200), ("one.lab.example.org:9580", 200), ("example.org", 421),
                ("a.b.lab.example.org", 421), ("lab.example.org", 421), ("evil.example", 421),
            ):  # fmt: skip
                assert (await client.get(f"https://{host}/v1/sessions")).status_code == status, host


@pytest.mark.slow
def test_a_recording_is_shown_to_the_bearer_of_its_token(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    with Recorder(path, {}) as recorder:
        recorder.add('{"time": 1}')
    words = (sys.executable, "-m", "groupflow.cli.main", "net", "play", str(path), "--listen", "127.0.0.1:0")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as player:
        assert player.stdout is not None
        url, _, token = player.stdout.readline().partition(", at ")[2].strip().partition("/?token=")
        known = {"Authorization": f"Bearer {token}"}
        for headers, status in ((known, 200), ({}, 401), (known | {"Host": "evil.example"}, 421)):
            answer = httpx.get(f"{url}/v1/topology", headers=headers, trust_env=False)
            assert answer.status_code == status
        assert api_token.find(url) == token
        player.terminate()
    assert api_token.find(url) is None


async def test_the_page_of_the_api_takes_nothing_from_elsewhere() -> None:
    async with served() as (_, known, url):
        for path in ("/docs", "/redoc"):
            page = (await known.get(url + path)).text
            assert not re.findall(r'(?:src|href)="(?!/|data:)', page), path
            for script in re.findall(r'(?:src|href)="([^"]+)"', page):
                assert (await known.get(url + script)).status_code == 200, script


async def test_a_body_is_bounded() -> None:
    async def endless() -> AsyncGenerator[bytes]:
        for _ in range(64):
            yield bytes(1 << 16)

    async with served() as (_, known, _url):
        for content in (bytes(BODY + 1), endless()):
            answer = await known.post("/sessions", content=content)
            assert (answer.status_code, answer.json()["error"]) == (
                413, "a request has at most 1048576 bytes; send less",
            )  # fmt: skip
        assert (await known.get("/sessions/7")).status_code == 200


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n"], ids=["nothing", "half"])
async def test_a_silent_connection_is_closed(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SILENCE", 0.1)
    async with served() as (_, known, url):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(said)
        assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()
        assert (await known.get("/sessions/7")).status_code == 200
