"""A TCP session with ordinary programs at its ends: listeners that are its members, and clients."""

import asyncio
import errno
import hashlib
import random
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.options import MemberOptions, Start
from groupflow.files import variants
from groupflow.lab import split
from groupflow.lab.controller_process import SessionAccess
from groupflow.processes import Daemon
from tests.network.harness import MIB, Lab, MakeLab, eventually

FIG5 = variants.with_members(variants.named("fig5"), 1)
PORT = 5000
"""port of the session's address"""
QUICKLY = 3.0
"""seconds, on a busy machine; a SYN without an answer is repeated for over two minutes"""

# Run inside a host. Each is an ordinary TCP program.
LISTENER = """
import hashlib, socket, sys
server = socket.create_server(("", int(sys.argv[1])))
print("listening", flush=True)
while True:
    stream, _ = server.accept()
    digest, size = hashlib.sha256(), 0
    try:
        while chunk := stream.recv(1 << 16):
            digest.update(chunk)
            size += len(chunk)
        print("end", size, digest.hexdigest(), flush=True)
    except OSError as error:
        print("error", error.errno, size, flush=True)
    if len(sys.argv) > 2:
        stream.sendall(sys.argv[2].encode())
    stream.close()
"""
CLIENT = """
import random, socket, sys, time
address, port, size, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
data = random.Random(1).randbytes(1 << 20)
try:
    stream = socket.create_connection((address, port), timeout=30)
    for sent in range(0, size, 1 << 16):
        stream.sendall(data[sent % (1 << 20):][:min(1 << 16, size - sent)])
        time.sleep(pause)
    stream.shutdown(socket.SHUT_WR)
    print("reply", stream.recv(100).decode(), flush=True)
except OSError as error:
    print("error", error.errno or type(error).__name__, flush=True)
"""


def content(size: int, start: int = 0) -> str:
    """The digest of the bytes that CLIENT sends, from a byte on."""
    data = random.Random(1).randbytes(MIB)
    return hashlib.sha256((data * (size // MIB + 1))[start:size]).hexdigest()


class Program:
    """A Python program in a host, and the lines that it has printed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[list[str]] = []
        self.reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.lines.append(line.decode().split())

    async def says(self, number: int, seconds: float = 30.0) -> list[str]:
        """Its line with this number, from 0, once it is printed."""
        await eventually(lambda: len(self.lines) > number, seconds, f"line {number} of {self.lines}")
        return self.lines[number]

    async def stop(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await self.reader


async def run(lab: Lab, host: str, code: str, *arguments: object) -> Program:
    command = [*lab.network.hosts[host].launcher(), "/usr/bin/python3", "-c", code, *map(str, arguments)]
    return Program(
        await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
        )
    )


class Group:
    """The listeners of one session on hosts, and its clients."""

    def __init__(self, lab: Lab, session: SessionAccess, address: str) -> None:
        self.lab = lab
        self.session = session
        self.address = address
        self.programs: dict[str, Program] = {}
        self.members: dict[str, AgentProcess] = {}
        self.clients: list[Program] = []
        self.agents: dict[str, Daemon] = {}
        """agents that were started with the group, by host"""

    async def join(
        self, host: str, *, start: Start = "now", reply: str = "", listen: bool = True
    ) -> AgentProcess:
        if listen:
            self.programs[host] = await run(self.lab, host, LISTENER, 9000, *([reply] if reply else []))
            await self.programs[host].says(0)
        options = MemberOptions(
            session=self.session.id, token=self.session.token, name=host, listen=9000, start=start
        )
        member = AgentProcess(options, launcher=self.lab.network.hosts[host].launcher())
        self.members[host] = await member.__aenter__()
        await member.wait_for("joined")
        return member

    async def send(
        self, host: str, size: int, *, pause: float = 0.0, address: str | None = None, port: int = PORT
    ) -> Program:
        client = await run(self.lab, host, CLIENT, address or self.address, port, size, pause)
        self.clients.append(client)
        return client

    async def assert_refused(self, host: str, *, address: str | None = None, port: int = PORT) -> None:
        """A client is refused at once."""
        began = time.monotonic()
        client = await self.send(host, 10, address=address, port=port)
        assert await client.says(0) == ["error", str(errno.ECONNREFUSED)]
        assert time.monotonic() - began < QUICKLY

    async def under_way(self, size: int = MIB // 2) -> None:
        """Waits until every member has so many bytes of a stream that is still being sent."""

        def there() -> bool:
            acked = self.acknowledged()
            return len(acked) == len(self.members) and min(acked.values()) >= size

        await eventually(there, 15.0, f"{size} bytes at every member")
        assert not self.clients[-1].lines, "the client is still sending"

    def acknowledged(self) -> dict[str, int]:
        """Bytes of the streams under way that members have, by name."""
        return {
            branch["name"]: branch["acked"]
            for agent in self.told()["agents"]
            for stream in agent["counters"].get("streams", [])
            for branch in stream["branches"]
            if branch["kind"] == "member"
        }

    def told(self) -> dict[str, Any]:
        """The controller's view of the session's agents and streams."""
        return cast(dict[str, Any], self.lab.controller.get(f"/sessions/{self.session.id}/tcp"))

    async def assert_all_have(self, size: int, hosts: Sequence[str], line: int = 1) -> None:
        for host in hosts:
            assert await self.programs[host].says(line) == ["end", str(size), content(size)], host

    async def receipts(self, count: int) -> dict[str, int]:
        """Receipts by the member's name, once there are so many."""
        found: dict[str, int] = {}

        def there() -> bool:
            for stream in self.told()["streams"]:
                found.update({receipt["name"]: receipt["bytes"] for receipt in stream["receipts"]})
            return len(found) >= count

        await eventually(there, 15.0, f"{count} receipts")
        return found

    async def close(self) -> None:
        await AgentProcess.stop_all(self.members.values())
        for program in (*self.programs.values(), *self.clients):
            await program.stop()


@asynccontextmanager
async def group(lab: Lab, mode: str = "e2e", **settings: object) -> AsyncGenerator[Group]:
    """A session without members."""
    session = lab.session(mode, tcp={"ports": [PORT], **settings})
    form = cast(dict[str, Any], lab.controller.get(f"/sessions/{session.id}"))
    made = Group(lab, session, form["tcp"]["address"])
    try:
        yield made
    finally:
        await made.close()


@asynccontextmanager
async def served(lab: Lab, *hosts: str, mode: str = "e2e", **settings: object) -> AsyncGenerator[Group]:
    """A session with listeners on `hosts`, in a network where both agents run."""
    await agents_up(lab, 2)
    async with group(lab, mode, **settings) as subject:
        for host in hosts:
            await subject.join(host)
        yield subject


@asynccontextmanager
async def served_alone(make_lab: MakeLab, *hosts: str, **settings: Any) -> AsyncGenerator[Group]:
    """The same in a network of its own, which the test may break."""
    with make_lab(FIG5) as lab:
        agents = split.start(lab.network, lab.folder / "logs")
        async with served(lab, *hosts, **settings) as subject:
            subject.agents = agents
            yield subject


async def agents_up(lab: Lab, count: int) -> None:
    def up() -> bool:
        agents = cast(list[dict[str, Any]], lab.controller.get("/agents"))
        return sum((agent["kind"], agent["state"]) == ("split", "up") for agent in agents) >= count

    await eventually(up, 10.0, f"{count} agents up")
