"""Hosts of a clustered tree, as processes on this machine."""

import asyncio
import os
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

import groupflow
from groupflow.agents.errors import AgentError, ClientError
from groupflow.store.interface import MemoryStore
from groupflow.tree.options import DispatchOptions, TreeRecvOptions, TreeSendOptions
from groupflow.tree.service import Dispatch
from tests.support.tokens import token_file
from tests.support.waiting import until
from tests.unit.tree.hosts import FILE_BYTES, LISTEN, TOKEN, Grove, complete_files, contents, digest, grove

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tree") / "sent.bin"
    path.write_bytes(os.urandom(FILE_BYTES))
    return path


@pytest.mark.parametrize("plain", [False, True], ids=["tls", "plain"])
@pytest.mark.parametrize("parallel", [1, 3])
async def test_a_file_comes_to_all_hosts_over_each_other(
    tmp_path: Path, sent: Path, plain: bool, parallel: int
) -> None:
    async with AsyncExitStack() as stack:
        tree = await grove(stack, plain=plain)
        options = TreeSendOptions(name="source", file=sent, members=6, children=2, **tree.common)
        source = await tree.start(options)
        hosts = await tree.receivers(tmp_path, 6, parallel=parallel)
        complete = await asyncio.wait_for(source.finish(), 60)
        assert complete.integer("bytes") == FILE_BYTES
        for host in hosts:
            assert (await asyncio.wait_for(host.finish(), 60)).integer("bytes") == FILE_BYTES
        assert {digest(tmp_path / f"{n}.bin") for n in range(6)} == {digest(sent)}


@pytest.mark.slow
async def test_who_loses_its_parent_goes_on_where_it_was(tmp_path: Path, sent: Path) -> None:
    async with AsyncExitStack() as stack:
        tree = await grove(stack)
        options = TreeSendOptions(name="source", members=7, children=2, **tree.common)
        source = await tree.start(options, piped_input=True)
        hosts = await tree.receivers(tmp_path, 7)
        data = contents(sent)
        source.data_in.write(data[: FILE_BYTES // 2])
        await until(
            lambda: all(
                "progress" in host.latest and host.latest["progress"].integer("bytes") for host in hosts
            )
        )
        inner = [host for host in hosts if host.latest["progress"].fields["children"]]
        inner[0].signal(signal.SIGKILL)
        source.data_in.write(data[FILE_BYTES // 2 :])
        source.data_in.close()
        await asyncio.wait_for(source.finish(), 60)
        alive = [n for n, host in enumerate(hosts) if host is not inner[0]]
        for n in alive:
            await asyncio.wait_for(hosts[n].finish(), 60)
        assert {digest(tmp_path / f"{n}.bin") for n in alive} == {digest(sent)}


async def test_dispatchers_that_die_are_not_missed(tmp_path: Path, sent: Path) -> None:
    store, port = MemoryStore(), 0
    async with AsyncExitStack() as stack:
        options = DispatchOptions(token=TOKEN, listen=LISTEN)
        async with Dispatch(options, store) as service:
            tree, port = Grove(stack, service), service.port
            source = await tree.start(
                TreeSendOptions(name="source", members=3, children=2, **tree.common), piped_input=True
            )
            hosts = await tree.receivers(tmp_path, 3)
            data = contents(sent)
            source.data_in.write(data[: FILE_BYTES // 2])
            await until(
                lambda: all("progress" in h.latest and h.latest["progress"].integer("bytes") for h in hosts)
            )
        source.data_in.write(data[FILE_BYTES // 2 :])
        async with Dispatch(DispatchOptions(token=TOKEN, listen=("127.0.0.1", port)), store) as again:
            await until(lambda: again.connected == 4)
            source.data_in.close()
            for agent in (source, *hosts):
                await asyncio.wait_for(agent.finish(), 60)
        assert {digest(tmp_path / f"{n}.bin") for n in range(3)} == {digest(sent)}


async def test_sessions_over_a_tree() -> None:
    async with AsyncExitStack() as stack:
        tree = await grove(stack)
        common = {key: tree.common[key] for key in ("to", "token", "tls_pin")}
        async with groupflow.TreeSession(role="sender", members=2, **common) as sender:
            receivers = [
                await stack.enter_async_context(
                    groupflow.TreeSession(role="receiver", start="start", **common)
                )
                for _ in range(2)
            ]

            async def read(session: groupflow.TreeSession) -> bytes:
                return b"".join([chunk async for chunk in session.stream()])

            reading = [asyncio.create_task(read(session)) for session in receivers]
            await sender.send(b"hello, ")
            await sender.send(b"tree")
            await asyncio.wait_for(sender.finish(), 30)
            assert [await asyncio.wait_for(task, 30) for task in reading] == [b"hello, tree"] * 2


async def test_records_are_skipped_whole() -> None:
    size, count = 100_000, 300
    async with AsyncExitStack() as stack:
        tree = await grove(stack)
        options: dict[str, Any] = {key: tree.common[key] for key in ("to", "token", "tls_pin")}
        options |= {"slow": "skip", "align": size, "cache": 1 << 20}
        sender = groupflow.TreeSession(role="sender", **options)
        async with sender, groupflow.TreeSession(role="receiver", start="start", **options) as receiver:
            # It does not read yet: its pipe and what this process buffers fill, and what is sent goes on.
            for number in range(count):
                await sender.send(number.to_bytes(4, "big") * (size // 4))
            await until(lambda: receiver.progress and receiver.progress.integer("bytes") > 0)
            finishing = asyncio.create_task(sender.finish())
            records = [record async for record in receiver.records()]
            await asyncio.wait_for(finishing, 30)
        numbers = [int.from_bytes(record[:4], "big") for record in records]
        assert numbers == sorted(numbers) and 0 < len(numbers) < count, numbers
        assert records == [number.to_bytes(4, "big") * (size // 4) for number in numbers]


@pytest.mark.slow
async def test_who_has_another_token_or_does_not_know_the_tree_is_refused() -> None:
    async with AsyncExitStack() as stack:
        tree = await grove(stack)
        cases: list[tuple[dict[str, Any], str, str]] = [
            ({"token": "bad"}, "refused", "the token is wrong"),
            ({"tls_pin": "0" * 64}, "", "another certificate"),
            ({"tls_pin": None}, "", "no dispatchers at"),
        ]
        for change, code, text in cases:
            options = TreeRecvOptions(name="r", patience=1, **(tree.common | change))
            agent = await tree.start(options)
            with pytest.raises(AgentError, match=text) as error:
                await asyncio.wait_for(agent.finish(), 30)
            assert code in ("", error.value.code)


@pytest.mark.slow
async def test_a_source_that_is_killed_is_said_to_be(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        tree = await grove(stack, patience_ms=500)
        source = await tree.start(
            TreeSendOptions(name="source", members=2, children=2, **tree.common), piped_input=True
        )
        hosts = await tree.receivers(tmp_path, 2)
        source.data_in.write(b"some")
        await until(
            lambda: all("progress" in h.latest and h.latest["progress"].integer("bytes") for h in hosts)
        )
        source.signal(signal.SIGKILL)
        for host in hosts:
            with pytest.raises(AgentError, match="the source has left"):
                await asyncio.wait_for(host.finish(), 30)
        assert complete_files(tmp_path) == []


async def run_command(*words: str) -> tuple[int, str]:
    """Exit code of `groupflow`, and its messages."""
    command = (sys.executable, "-m", "groupflow.cli.main", "tree", *words)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    try:
        _, said = await asyncio.wait_for(process.communicate(), 60)
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode or 0, said.decode()


async def test_the_commands(tmp_path: Path, sent: Path) -> None:
    async with AsyncExitStack() as stack:
        tree = await grove(stack)
        where = (
            "--to",
            tree.common["to"],
            "--token-file",
            token_file(TOKEN),
            "--tls-pin",
            tree.common["tls_pin"],
        )
        copies = [tmp_path / name for name in "ab"]
        receiving = [
            asyncio.create_task(run_command("recv", *where, "--output", str(copy), "--from", "start"))
            for copy in copies
        ]
        code, said = await run_command("send", *where, "--file", str(sent), "--members", "2")
        assert code == 0 and f"complete, {FILE_BYTES} bytes" in said, said
        for code, said in await asyncio.gather(*receiving):
            assert code == 0 and "in the tree as host" in said and "Traceback" not in said, said
        assert {digest(copy) for copy in copies} == {digest(sent)}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("serve", "--token-file", token_file("xyz")), "the token: it must be 1 to 255 hexadecimal digits"),
        (
            ("serve", "--token-file", token_file("ab"), "--max-children", "0"),
            "argument --max-children: '0' will not do; write a whole number from 1 to 65535",
        ),
        (
            ("serve", "--token-file", token_file("ab"), "--threshold=-1ms"),
            "argument --threshold: '-1ms' cannot be read; write a number with ns, us, ms or s",
        ),
        (
            ("serve", "--token-file", token_file("ab"), "--listen", "nowhere"),
            "--listen: 'nowhere' is no address",
        ),
        (
            ("recv", "--to", "127.0.0.1:1", "--token-file", token_file("ab")),
            "no way to check the server: pass the fingerprint that it prints with --tls-pin",
        ),
        (("recv", "--to", "127.0.0.1:1", "--plain"), "the token is missing: name its file"),
        (
            ("recv", "--to", "127.0.0.1:1", "--token-file", token_file("ab"), "--tls-pin", "12"),
            "--tls-pin 12: it must be 64",
        ),
        (
            ("send", "--to", "127.0.0.1:1", "--token-file", token_file("ab"), "--plain", "--file", "/nope"),
            "/nope: no such file",
        ),
    ],
)
async def test_commands_that_make_no_sense_are_refused_in_one_line(words: tuple[str, ...], text: str) -> None:
    code, said = await run_command(*words)
    missing = 4 if "no such file" in text else 2
    assert (code, said.count("\n")) == (missing, 1) and text in said, said


def test_what_does_not_go_together_is_said() -> None:
    with pytest.raises(ClientError, match="are of a receiver"):
        groupflow.TreeSession("127.0.0.1:1", role="sender", parallel=2, plain=True)
    with pytest.raises(ClientError, match="session: it is missing"):
        groupflow.Session(role="sender")


@pytest.mark.parametrize("given", [{}, {"tls_pin": "0" * 64, "plain": True}])
def test_a_session_goes_unencrypted_only_where_that_is_asked_for(given: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match=r"pass either tls_pin= or plain=True"):
        groupflow.TreeSession("127.0.0.1:1", role="receiver", token="c0ffee", **given)


async def test_records_need_their_size() -> None:
    session = groupflow.TreeSession("127.0.0.1:1", role="receiver", plain=True, token="c0ffee")
    with pytest.raises(ClientError, match="the size of records is missing"):
        await anext(session.records())
