"""The Python API, and `groupflow session send` and `recv`, in hosts of a real network."""

import asyncio
import sys

from groupflow import Session
from tests.network.harness import MIB, Lab
from tests.support.tokens import token_file


async def test_a_stream_of_pieces_and_a_file(pair: Lab) -> None:
    session, file = pair.session(), pair.file(MIB)
    hosts = pair.network.hosts
    async with pair.caches():

        async def hear(name: str) -> bytes:
            async with Session(
                session.id, role="receiver", token=session.token, name=name, launcher=hosts[name].launcher()
            ) as receiver:
                joined.release()
                return b"".join([chunk async for chunk in receiver.stream()])

        joined = asyncio.Semaphore(0)
        hearing = [asyncio.create_task(hear(name)) for name in ("mb1", "mc1")]
        for _ in hearing:
            await joined.acquire()
        async with Session(
            session.id,
            role="sender",
            token=session.token,
            name="ma1",
            members=2,
            launcher=hosts["ma1"].launcher(),
        ) as sender:
            await sender.send(b"first, ")
            await sender.send_file(file)
            await sender.send(b", last")
        async with asyncio.timeout(20):
            heard = await asyncio.gather(*hearing)
    assert heard == [b"first, " + file.read_bytes() + b", last"] * 2


async def test_datagrams_keep_their_bounds(pair: Lab) -> None:
    session = pair.session()
    hosts = pair.network.hosts
    sent = [b"", b"a", bytes(1448), bytes(100_000), b"end"]
    async with (
        pair.caches(),
        Session(
            session.id,
            role="receiver",
            token=session.token,
            name="mc1",
            kind="datagrams",
            launcher=hosts["mc1"].launcher(),
        ) as receiver,
    ):
        async with Session(
            session.id,
            role="sender",
            token=session.token,
            name="ma1",
            kind="datagrams",
            launcher=hosts["ma1"].launcher(),
        ) as sender:
            for datagram in sent:
                await sender.send(datagram)
        async with asyncio.timeout(20):
            assert [datagram async for datagram in receiver.datagrams()] == sent


async def test_the_commands(pair: Lab) -> None:
    session, file = pair.session(), pair.file(MIB)
    output = pair.folder / "by-command.bin"
    command = [sys.executable, "-m", "groupflow.cli.main"]
    member = [str(session.id), "--token-file", token_file(session.token)]
    async with pair.caches():
        receiving = await asyncio.create_subprocess_exec(
            *pair.network.hosts["mb1"].launcher(),
            *command,
            "session",
            "recv",
            *member,
            "--output",
            str(output),
        )
        sending = await asyncio.create_subprocess_exec(
            *pair.network.hosts["ma1"].launcher(), *command, "session", "send", *member, "--file", str(file)
        )
        async with asyncio.timeout(30):
            assert await sending.wait() == 0
            assert await receiving.wait() == 0
    assert output.read_bytes() == file.read_bytes()
    assert not list(pair.folder.glob("*.part"))
