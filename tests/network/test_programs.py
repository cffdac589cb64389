"""Ordinary programs send to a group through the address of a TCP session; ordinary servers receive."""

import hashlib
import json
import random
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from tests.network.harness import MIB, Lab, eventually
from tests.network.tcp_group import PORT, Group, Program, run, served

MEMBERS = ("mb1", "mc1", "md1")


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


# An HTTP server that keeps what is uploaded.
UPLOADS = """
import hashlib, http.server, sys
class Uploads(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201, "Created by " + sys.argv[2])
        self.send_header("Content-Length", "0")
        self.end_headers()
        print(self.path, len(body), hashlib.sha256(body).hexdigest(), flush=True)
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("", int(sys.argv[1])), Uploads)
print("listening", flush=True)
server.serve_forever()
"""
# Becomes a server; a child of it says when that listens at the port (state 0A of /proc/net/tcp).
SERVE = """
import os, pathlib, sys, time
if os.fork():
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execvp(sys.argv[2], sys.argv[2:])
local = f":{int(sys.argv[1]):04X}"
def listens():
    for name in ("tcp", "tcp6"):
        for line in pathlib.Path("/proc/net", name).read_text().splitlines():
            fields = line.split()
            if fields[1].endswith(local) and fields[3] == "0A":
                return True
while not listens():
    time.sleep(0.05)
print("listening", flush=True)
"""


@asynccontextmanager
async def servers(
    splitting: Lab, program: str, arguments: Mapping[str, Sequence[object]]
) -> AsyncGenerator[Group]:
    """A session whose members are servers; the first one's answers go back to the client."""
    async with served(splitting, replies="leader") as subject:
        for host, given in arguments.items():
            server = await run(subject.lab, host, program, 9000, *given)
            subject.programs[host] = server
            await server.says(0)
            await subject.join(host, listen=False)
        yield subject


def file(folder: Path, size: int) -> tuple[Path, str]:
    data = random.Random(3).randbytes(size)
    path = folder / "sent.bin"
    path.write_bytes(data)
    return path, hashlib.sha256(data).hexdigest()


async def client(subject: Group, *command: object) -> str:
    """The output of a command on ma1, which must succeed."""
    code = "import subprocess, sys; print(subprocess.run(sys.argv[1:], capture_output=True, text=True))"
    started: Program = await run(subject.lab, "ma1", code, *command)
    subject.clients.append(started)
    said = " ".join(await started.says(0, 60.0))
    assert "returncode=0" in said, said
    return said


@needs("curl")
async def test_curl_uploads_to_web_servers(splitting: Lab, tmp_path: Path) -> None:
    path, digest = file(tmp_path, 3 * MIB)
    async with servers(splitting, UPLOADS, {host: [host] for host in MEMBERS}) as subject:
        url = f"http://{subject.address}:{PORT}/data.bin"
        said = await client(subject, "curl", "-sS", "-m", "50", "-o", "/dev/null", "-v", "-T", path, url)
        assert "HTTP/1.1 201 Created by mb1" in said
        for host in MEMBERS:
            assert await subject.programs[host].says(1) == ["/data.bin", str(3 * MIB), digest], host


@needs("nc")
async def test_nc_sends_a_file(splitting: Lab, tmp_path: Path) -> None:
    path, digest = file(tmp_path, 3 * MIB)
    async with served(splitting, *MEMBERS) as subject:
        await client(subject, "sh", "-c", f"nc -N {subject.address} {PORT} < {path}")
        for host in MEMBERS:
            assert await subject.programs[host].says(1) == ["end", str(3 * MIB), digest], host


@needs("rsync")
async def test_rsync_copies_to_daemons(splitting: Lab, tmp_path: Path) -> None:
    """All daemons must be at the same state, so the seed of checksums is given and files go whole."""
    path, digest = file(tmp_path, 3 * MIB)
    arguments: dict[str, Sequence[object]] = {}
    for host in MEMBERS:
        folder = tmp_path / host
        folder.mkdir()
        settings = tmp_path / f"{host}.conf"
        settings.write_text(
            "use chroot = no\nuid = root\ngid = root\nlog file = /dev/null\n"
            f"[in]\npath = {folder}\nread only = no\n"
        )
        command = ["rsync", "--daemon", "--no-detach", "--port", 9000, f"--config={settings}"]
        arguments[host] = command
    async with servers(splitting, SERVE, arguments) as subject:
        url = f"rsync://{subject.address}:{PORT}/in/"
        await client(subject, "rsync", "-W", "--checksum-seed=7", "--timeout=40", path, url)
        for host in MEMBERS:
            copy = tmp_path / host / path.name
            await eventually(copy.exists, 10.0, f"{copy}")
            assert hashlib.sha256(copy.read_bytes()).hexdigest() == digest, host


def reports(log: Path) -> list[dict[str, Any]]:
    """The complete JSON objects that an iperf3 server has written, one after another."""
    text = log.read_text().lstrip()
    found: list[dict[str, Any]] = []
    while text:
        try:
            report, length = json.JSONDecoder().raw_decode(text)
        except json.JSONDecodeError:
            break
        found.append(report)
        text = text[length:].lstrip()
    return found


async def report(log: Path, number: int) -> dict[str, Any]:
    """The report with this number, from 0, once it is written."""
    await eventually(lambda: len(reports(log)) > number, 10.0, f"report {number} in {log}")
    return reports(log)[number]


@needs("iperf3")
@pytest.mark.parametrize(
    ("hosts", "options"), [(["mb1"], "-t 1"), (["md1", "mb1", "mc1"], "-t 1 -P 4"), (MEMBERS, "-t 1 --bidir")]
)
async def test_iperf3_measures_to_its_servers(
    splitting: Lab, tmp_path: Path, hosts: Sequence[str], options: str
) -> None:
    """The client says on one connection that the others are over; servers drop unread bytes."""
    logs = {host: tmp_path / f"{host}.json" for host in hosts}
    arguments = {
        host: ["iperf3", "-s", "-p", 9000, "--json", "--forceflush", "--logfile", log]
        for host, log in logs.items()
    }
    async with servers(splitting, SERVE, arguments) as subject:
        for number in range(2):
            said = await client(subject, "iperf3", "-c", subject.address, "-p", PORT, *options.split())
            assert "receiver" in said and "iperf Done." in said
            for host, log in logs.items():
                done = await report(log, number)
                assert "error" not in done and done["end"]["sum_received"]["bytes"] > MIB // 4, host
        path = f"/sessions/{subject.session.id}/members"
        members = cast(list[dict[str, Any]], subject.lab.controller.get(path))
        assert sorted(member["name"] for member in members) == sorted(hosts), "nobody has left"
