"""TCP sessions on real packets: an ordinary client, agents that split its connection, ordinary listeners."""

import asyncio
import errno
import hashlib
import random
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from groupflow.cli.command import REFUSED
from groupflow.client.agent_process import AgentProcess
from groupflow.client.errors import PutOutError
from groupflow.client.options import MemberOptions, Start
from tests.network.conftest import MakeLab
from tests.network.harness import MIB, Lab, eventually
from topologies import split, variants
from topologies.controller import SessionAccess

FIG5 = variants.with_members(variants.named("fig5"), 1)
PORT = 5000
QUICKLY = 3.0
"""seconds, on a machine with much else to do; a SYN that nobody answers is repeated for over two minutes"""

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
    """The digest of what CLIENT sends, from a byte on."""
    data = random.Random(1).randbytes(MIB)
    return hashlib.sha256((data * (size // MIB + 1))[start:size]).hexdigest()


class Program:
    """A Python program in a host, and the lines it printed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[list[str]] = []
        self.reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.lines.append(line.decode().split())

    async def says(self, number: int, seconds: float = 30.0) -> list[str]:
        """Its line with this number, from 0."""
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
    """Listeners of one session on hosts, and who sends to them."""

    def __init__(self, lab: Lab, session: SessionAccess, address: str) -> None:
        self.lab = lab
        self.session = session
        self.address = address
        self.programs: dict[str, Program] = {}
        self.members: dict[str, AgentProcess] = {}
        self.clients: list[Program] = []
        self.agents: dict[str, split.SplitAgent] = {}
        """those that were started with the group, by host"""

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
        """What the controller says of the session's agents and streams."""
        return cast(dict[str, Any], self.lab.controller.get(f"/sessions/{self.session.id}/tcp"))

    async def assert_all_have(self, size: int, hosts: Sequence[str], line: int = 1) -> None:
        for host in hosts:
            assert await self.programs[host].says(line) == ["end", str(size), content(size)], host

    async def receipts(self, count: int) -> dict[str, int]:
        """By member's name, when there are so many."""
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
    """A session that nobody has joined yet."""
    session = lab.session(mode, tcp={"ports": [PORT], **settings})
    form = cast(dict[str, Any], lab.controller.get(f"/sessions/{session.id}"))
    made = Group(lab, session, form["tcp"]["address"])
    try:
        yield made
    finally:
        await made.close()


@asynccontextmanager
async def served(
    make_lab: MakeLab, *hosts: str, mode: str = "e2e", **settings: object
) -> AsyncGenerator[Group]:
    """Fig. 5 with both agents running, and a session with listeners on `hosts`."""
    with make_lab(FIG5) as lab:
        agents = split.start(lab.network, lab.folder / "logs")
        await agents_up(lab, len(agents))
        async with group(lab, mode, **settings) as subject:
            subject.agents = agents
            for host in hosts:
                await subject.join(host)
            yield subject


async def agents_up(lab: Lab, count: int) -> None:
    def up() -> bool:
        agents = cast(list[dict[str, Any]], lab.controller.get("/split-agents"))
        return sum(agent["state"] == "up" for agent in agents) >= count

    await eventually(up, 10.0, f"{count} agents up")


@pytest.mark.parametrize("mode", ["e2e", "n2n"])
async def test_one_connection_reaches_every_member(make_lab: MakeLab, mode: str) -> None:
    size = 3 * MIB + 17
    async with served(make_lab, mode=mode, replies="leader") as subject:
        await subject.join("mb1", reply="all-of-it")
        for host in ("mc1", "md1"):
            await subject.join(host)
        client = await subject.send("ma1", size)
        await subject.assert_all_have(size, ("mb1", "mc1", "md1"))
        assert await client.says(0) == ["reply", "all-of-it"]
        assert await subject.receipts(3) == {"mb1": size, "mc1": size, "md1": size}


async def test_any_host_sends_and_members_that_left_get_nothing(make_lab: MakeLab) -> None:
    async with served(make_lab, "ma1", "mb1", "md1") as subject:
        await subject.send("mc1", MIB)
        await subject.assert_all_have(MIB, ("ma1", "mb1", "md1"))
        await subject.members.pop("mb1").stop()
        await subject.send("mc1", 2 * MIB)
        await subject.assert_all_have(2 * MIB, ("ma1", "md1"), line=2)
        assert len(subject.programs["mb1"].lines) == 2


async def test_an_address_without_a_session_is_refused_at_once(make_lab: MakeLab) -> None:
    with make_lab(FIG5) as lab:
        async with group(lab) as subject:
            await assert_refused(subject, address="10.200.77.77")
            counters = cast(dict[str, Any], lab.controller.get("/switches/s1/counters"))
            assert counters["refusals"][0]["packets"] == 1


async def test_a_session_without_agents_is_refused_until_one_comes(make_lab: MakeLab) -> None:
    with make_lab(FIG5) as lab:
        async with group(lab) as subject:
            await subject.join("mb1")
            await assert_refused(subject)
            split.start(lab.network, lab.folder / "logs", hosts=["sa2"])
            await agents_up(lab, 1)
            await subject.send("ma1", MIB)
            await subject.assert_all_have(MIB, ["mb1"])


async def test_a_port_that_is_not_the_sessions_is_refused_by_its_agent(make_lab: MakeLab) -> None:
    async with served(make_lab, "mb1") as subject:
        await assert_refused(subject, port=PORT + 1)
        await subject.send("ma1", MIB)
        await subject.assert_all_have(MIB, ["mb1"])


async def assert_refused(subject: Group, *, address: str | None = None, port: int = PORT) -> None:
    """A client hears so at once."""
    began = time.monotonic()
    client = await subject.send("ma1", 10, address=address, port=port)
    assert await client.says(0) == ["error", str(errno.ECONNREFUSED)]
    assert time.monotonic() - began < QUICKLY


async def test_other_packets_to_the_prefix_are_dropped(make_lab: MakeLab) -> None:
    with make_lab(FIG5) as lab:
        done = lab.network.hosts["ma1"].run(["ping", "-c", "1", "-W", "1", "10.200.0.1"])
        assert done.returncode != 0
        counters = cast(dict[str, Any], lab.controller.get("/switches/s1/counters?counter=drops"))
        assert {
            count["index"]: count["packets"] for count in counters["drops"] if count["index"] == "refused"
        } == {"refused": 1}


async def test_members_that_are_refused_hear_why(make_lab: MakeLab) -> None:
    """With another token than the session's, or at a port that another member has."""
    async with served(make_lab, "mb1") as subject:
        token = subject.session.token
        for name, given, text in (
            ("mb1", "00" * 16, "token"),
            ("another", token, "mb1 is a member with port 9000 of mb1 already"),
        ):
            command = [sys.executable, "-m", "groupflow.cli.main", "member", str(subject.session.id)]
            command += ["--token", given, "--listen", "9000", "--name", name]
            done = await asyncio.to_thread(subject.lab.network.hosts["mb1"].run, command)
            assert done.returncode == REFUSED and text in done.stderr, done.stderr
        await subject.send("ma1", MIB)
        await subject.assert_all_have(MIB, ["mb1"])


async def test_a_member_whose_program_does_not_listen_is_put_out(make_lab: MakeLab) -> None:
    async with served(make_lab, "mb1") as subject:
        absent = await subject.join("mc1", listen=False)
        await subject.send("ma1", MIB)
        await subject.assert_all_have(MIB, ["mb1"])
        with pytest.raises(PutOutError):
            await asyncio.wait_for(absent.finish(), 10)
        path = f"/sessions/{subject.session.id}/members"
        members = cast(list[dict[str, Any]], subject.lab.controller.get(path))
        assert [member["name"] for member in members] == ["mb1"]


async def test_a_member_is_killed_and_the_others_get_all(make_lab: MakeLab) -> None:
    size = 4 * MIB
    async with served(make_lab, "mb1", "mc1", "md1") as subject:
        await subject.send("ma1", size, pause=0.02)
        await subject.under_way()
        await subject.programs["mc1"].stop()
        await subject.assert_all_have(size, ("mb1", "md1"))
        assert list(subject.told()["streams"][-1]["failed"])


@pytest.mark.parametrize(("one", "other"), [("s1", "s2"), ("ma1", "s1"), ("mc1", "s2")])
async def test_a_link_goes_down_and_up(make_lab: MakeLab, one: str, other: str) -> None:
    size = 6 * MIB
    async with served(make_lab, "mb1", "mc1") as subject:
        client = await subject.send("ma1", size, pause=0.02)
        await subject.under_way()
        subject.lab.network.change_link(one, other, "down")
        await asyncio.sleep(1.0)  # the length of the outage, not a wait for something
        assert not client.lines and len(subject.programs["mc1"].lines) == 1, "nobody was told of an end"
        subject.lab.network.change_link(one, other, "up")
        await subject.assert_all_have(size, ("mb1", "mc1"))
        assert await subject.receipts(2) == {"mb1": size, "mc1": size}


async def test_an_agent_is_killed_and_restarted(make_lab: MakeLab) -> None:
    async with served(make_lab, "mb1", "mc1") as subject:
        client = await subject.send("ma1", 8 * MIB, pause=0.02)
        await subject.under_way()
        agent = subject.agents["sa2"]
        agent.kill()
        assert (await client.says(0))[0] == "error", "the sender is not left in the dark"
        agent.restart()
        agent.wait_until_ready()
        await agents_up(subject.lab, 2)
        whole = ["end", str(MIB), content(MIB)]
        before = {host: len(program.lines) for host, program in subject.programs.items()}
        await subject.send("ma1", MIB)
        for host in ("mb1", "mc1"):
            program = subject.programs[host]
            await eventually(lambda p=program: whole in p.lines, 30, f"{host} after {before[host]} lines")


async def test_the_controller_is_gone_and_streams_go_on(make_lab: MakeLab) -> None:
    """To their end; the next controller learns what happened meanwhile."""
    size = 4 * MIB
    async with served(make_lab, "mb1", "mc1") as subject:
        await subject.send("ma1", size, pause=0.03)
        await subject.under_way()
        subject.lab.controller.daemon.kill()
        await subject.assert_all_have(size, ("mb1", "mc1"))
        subject.lab.controller.restart()
        assert await subject.receipts(2) == {"mb1": size, "mc1": size}


async def test_one_agent_of_two_is_chosen_and_replaced_when_it_is_gone(make_lab: MakeLab) -> None:
    async with served(make_lab, "mb1", "mc1", budget=1) as subject:

        def serving() -> list[str]:
            """Hosts of the session's agents that know it."""
            return [agent["host"] for agent in subject.told()["agents"] if agent["counters"]]

        (chosen,) = serving()
        await subject.send("ma1", MIB)
        await subject.assert_all_have(MIB, ("mb1", "mc1"))
        subject.agents[chosen].kill()
        await eventually(lambda: serving() == sorted({"sa1", "sa2"} - {chosen}), 15.0, "replaced")
        await subject.send("ma1", 2 * MIB)
        await subject.assert_all_have(2 * MIB, ("mb1", "mc1"), line=2)


async def test_late_members_begin_at_the_start_or_where_they_join(make_lab: MakeLab) -> None:
    size = 6 * MIB
    async with served(make_lab, "mb1", history_bytes=32 * MIB) as subject:
        await subject.send("ma1", size, pause=0.03)
        await subject.under_way()
        await subject.join("md1", start="start")
        await subject.join("mc1")
        await subject.assert_all_have(size, ("mb1", "md1"))
        word, count, digest = await subject.programs["mc1"].says(1)
        assert word == "end" and 0 < int(count) < size
        assert digest == content(size, size - int(count)), "the rest of the stream, without a gap"
