"""The async Python API over a stand-in for gfagent."""

from collections.abc import Callable
from pathlib import Path

import pytest

import groupflow
from groupflow.agents.errors import AgentError, ClientError

Install = Callable[[str], Path]
JOINED = """event joined ',"member":1'"""
COMPLETE = """event complete ',"bytes":5,"lost":[]'"""


def session(role: str, **more: object) -> groupflow.Session:
    return groupflow.Session(7, role=role, name="ma1", token="c0ffee", **more)  # pyright: ignore[reportArgumentType]


async def test_what_is_sent_arrives_in_order_and_is_complete_at_the_end(
    gfagent: Install, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"two, ")
    gfagent(f"{JOINED}; cat >{tmp_path}/data; {COMPLETE}")
    async with session("sender") as s:
        assert s.joined.integer("member") == 1
        await s.send(b"one, ")
        await s.send_file(tmp_path / "file")
        await s.send(b"three")
    assert (tmp_path / "data").read_bytes() == b"one, two, three"
    assert s.result is not None


async def test_datagrams_are_framed_both_ways(gfagent: Install, tmp_path: Path) -> None:
    gfagent(f"{JOINED}; cat >{tmp_path}/data; {COMPLETE}")
    async with session("sender", kind="datagrams") as s:
        await s.send(b"one")
        await s.send(b"")
    assert (tmp_path / "data").read_bytes() == b"\0\0\0\3one\0\0\0\0"
    gfagent(f"{JOINED} >&2; cat {tmp_path}/data; {COMPLETE} >&2")
    async with session("receiver", kind="datagrams") as s:
        assert [datagram async for datagram in s.datagrams()] == [b"one", b""]


async def test_a_stream_ends_with_its_data(gfagent: Install) -> None:
    gfagent(f"{JOINED} >&2; printf 'some data'; {COMPLETE} >&2")
    async with session("receiver") as s:
        assert b"".join([chunk async for chunk in s.stream()]) == b"some data"


async def test_a_stream_that_ends_early_raises(gfagent: Install) -> None:
    gfagent(
        f"""{JOINED} >&2; printf some; event error ',"code":"sender_lost","cause":"ma1 left"' >&2; exit 1"""
    )
    received: list[bytes] = []
    with pytest.raises(ClientError, match="ma1 left"):
        async with session("receiver") as s:
            async for chunk in s.stream():
                received.append(chunk)
    assert received == [b"some"]


async def test_a_failed_join_raises_on_entry(gfagent: Install) -> None:
    gfagent(
        """event error ',"code":"join_timeout","cause":"no answer","cure":"start a controller"'; exit 1"""
    )
    with pytest.raises(AgentError, match="no answer; start a controller") as late:
        await session("sender").__aenter__()
    assert late.value.code == "join_timeout"


async def test_a_sender_that_dies_while_sending_says_why(gfagent: Install) -> None:
    gfagent(f"""{JOINED}; event error ',"code":"no_receivers","cause":"all left"'; exit 1""")
    with pytest.raises(AgentError, match="all left"):
        async with session("sender") as s:
            while True:
                await s.send(bytes(1 << 20))


async def test_an_error_in_the_block_is_not_hidden_by_the_sessions_end(gfagent: Install) -> None:
    gfagent(f"{JOINED}; exec sleep 60")
    with pytest.raises(ZeroDivisionError):
        async with session("sender"):
            _ = 1 / 0


async def test_use_for_something_else_is_refused(gfagent: Install) -> None:
    gfagent(f"{JOINED}; cat >/dev/null; {COMPLETE}")
    async with session("sender") as s:
        with pytest.raises(ClientError, match="a sender cannot do this"):
            _ = [chunk async for chunk in s.stream()]
        with pytest.raises(ClientError, match="no such file"):
            await s.send_file("/nonexistent/file")
    gfagent(f"{JOINED}; cat >/dev/null; {COMPLETE}")
    async with session("sender", kind="datagrams") as s:
        with pytest.raises(ClientError, match="open it with kind='stream'"):
            await s.send_file("/etc/hostname")
        with pytest.raises(ClientError, match="too long"):
            await s.send(bytes((16 << 20) + 1))
