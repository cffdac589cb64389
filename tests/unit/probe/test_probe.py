"""A probe over the loopback: its measurements, and the refusal of strangers."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from groupflow.probe import (
    BusyError,
    Cell,
    ProbeError,
    ProbeOptions,
    RefusedError,
    ServeOptions,
    Server,
    client,
    measure,
    recommend,
    server,
    sockets,
    wire,
)
from tests.support.waiting import until

pytestmark = pytest.mark.slow

HOST = "127.0.0.1"
KIB = 1024
SHORT = ProbeOptions((16 * KIB, 64 * KIB), (1, 2), seconds=0.7, timeout=2.0)
ONE = ProbeOptions(connections=(1,), seconds=0.1, timeout=2.0, adapted=True)
"""the least that can be measured"""
SERVE = ServeOptions(HOST, 0, "c0ffee", answer_s=1.0)


@asynccontextmanager
async def faked(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncGenerator[int]:
    """Another program that listens. Yields its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            await answer(reader, writer)
        writer.close()

    other = await asyncio.start_server(serve, HOST, 0)
    async with other:
        yield other.sockets[0].getsockname()[1]


async def refusal(
    port: int, token: str = "c0ffee", options: ProbeOptions = ONE, host: str = HOST
) -> ProbeError:
    with pytest.raises(ProbeError) as error:
        await measure(host, port, token=token, options=options)
    assert "\n" not in str(error.value)
    return error.value


def kernels_most(name: str) -> int:
    return int(Path("/proc/sys/net/core", name).read_text())


async def test_where_buffers_are_the_kernels_only_connections_are_measured() -> None:
    options = ProbeOptions(connections=(2, 1), seconds=0.3, timeout=2.0, adapted=True)
    async with Server(SERVE) as far:
        probe = await measure(HOST, far.port, token="c0ffee", options=options)
    assert [(cell.buffer, cell.connections) for cell in probe.cells] == [(None, 1), (None, 2)]
    assert all(cell.bps > 0 for cell in probe.cells)
    assert probe.buffer == 0 and probe.connections in (1, 2)


@pytest.mark.slow
async def test_every_cell_is_measured_and_one_recommended() -> None:
    told: list[tuple[int, int, Cell]] = []

    def tell(done: int, of: int, cell: Cell) -> None:
        told.append((done, of, cell))

    async with Server(SERVE) as far:
        probe = await measure(HOST, far.port, token="c0ffee", options=SHORT, on_cell=tell)
    grid = {(buffer, n) for buffer in SHORT.buffers for n in SHORT.connections}
    measured = {(cell.buffer, cell.connections) for cell in probe.cells}
    assert grid <= measured and len(measured) <= len(grid) + 1
    assert all(cell.bps > 1e6 and cell.busy > 0 for cell in probe.cells)
    best = recommend(probe.cells)
    assert (probe.buffer, probe.connections, probe.bps) == (best.buffer, best.connections, best.bps)
    assert probe.kernel.buffer is None and probe.kernel.bps > 1e6
    assert 0 < probe.rtt_s < 0.1
    assert [done for done, _, _ in told] == [1, 2, 3, 4, 5, 6] and {of for _, of, _ in told} == {6}


async def test_half_the_buffer_is_tried_too() -> None:
    async with Server(SERVE) as far:
        probe = await measure(
            HOST, far.port, token="c0ffee", options=ProbeOptions((64 * KIB,), (1,), seconds=0.4)
        )
    assert {cell.buffer for cell in probe.cells} == {64 * KIB, 32 * KIB}


@pytest.mark.slow
async def test_sockets_have_the_buffers_that_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """At both ends of every connection; the kernel's come first and are as the kernel makes them."""
    seen: list[set[int]] = []
    count, connect = server._count, sockets.connect  # pyright: ignore[reportPrivateUsage]
    sent: list[int] = []

    async def counted(sockets: list[socket.socket], warm_up: float, seconds: float) -> dict[str, Any]:
        seen.append({sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2 for sock in sockets})
        assert len(sockets) == 2
        return await count(sockets, warm_up, seconds)

    async def connected(*where: Any) -> socket.socket:
        sock = await connect(*where)
        sent.append(sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2)
        return sock

    monkeypatch.setattr(server, "_count", counted)
    monkeypatch.setattr(client, "connect", connected)
    options = ProbeOptions((16 * KIB, 128 * KIB), (2,), seconds=0.4)
    async with Server(SERVE) as far:
        probe = await measure(HOST, far.port, token="c0ffee", options=options)
        again = await measure(HOST, far.port, token="c0ffee", options=options)
    tried = [{cell.buffer} for cell in probe.cells]
    assert seen[1 : 1 + len(tried)] == tried and sent[3:7] == [16 * KIB] * 2 + [128 * KIB] * 2
    kernels = seen[1 + len(tried)]
    assert seen[0] == kernels and not kernels & {16 * KIB, 128 * KIB}, "a set buffer does not stay"
    assert again.cells[0].buffer == 16 * KIB


async def test_a_bounded_buffer_is_told_and_measured_once() -> None:
    most = min(kernels_most("wmem_max"), kernels_most("rmem_max"))
    options = ProbeOptions((64 * KIB, 64 << 20, 32 << 20), (1,), seconds=0.5)
    assert most < 32 << 20, "this kernel gives more than is asked for here"
    async with Server(SERVE) as far:
        probe = await measure(HOST, far.port, token="c0ffee", options=options)
    grid = [cell.buffer for cell in probe.cells][:2]
    assert grid == [64 * KIB, most]
    assert any(f"no more than {most} of 67108864 bytes" in warning for warning in probe.warnings)
    assert any("sysctl -w net.core." in warning for warning in probe.warnings)


@pytest.mark.slow
async def test_the_far_sides_bound_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def bounded(option: int, buffers: list[int]) -> list[int]:
        return [min(buffer, 20 * KIB) for buffer in buffers]

    monkeypatch.setattr(server, "granted", bounded)
    async with Server(SERVE) as far:
        probe = await measure(HOST, far.port, token="c0ffee", options=SHORT)
    assert {cell.buffer for cell in probe.cells} <= {16 * KIB, 20 * KIB, 10 * KIB, 8 * KIB}
    assert any("net.core.rmem_max of 127.0.0.1 gives no more than 20480" in w for w in probe.warnings)


async def test_a_short_warm_up_is_told() -> None:
    async with Server(SERVE) as far:
        options = ProbeOptions((64 * KIB,), (1,), seconds=0.4)
        near = client._Client(HOST, far.port, "c0ffee", options)  # pyright: ignore[reportPrivateUsage]
        near._rtt_s = 0.05  # pyright: ignore[reportPrivateUsage]
        (doubt,) = near._doubts([Cell(64 * KIB, 1, 1e6)])  # pyright: ignore[reportPrivateUsage]
    assert "a round trip takes 50 ms; measure for --seconds 4" in doubt


async def test_refused_and_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    error = await refusal(port)
    assert (
        str(error)
        == f"{HOST}:{port}: connection refused; start `groupflow probe serve` there, or name its port"
    )
    assert "not a host's name" in str(await refusal(port, host="bad..name"))

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert "elsewhere:" in (said := str(await refusal(port, host="elsewhere")))
    assert "name or service not known; check the name" in said


async def test_a_name_with_several_addresses() -> None:
    """The server listens at one of those of localhost."""
    async with Server(SERVE) as far:
        assert (await measure("localhost", far.port, token="c0ffee", options=ONE)).bps > 0


async def test_no_answer_to_a_connection() -> None:
    """A listener whose backlog is full answers no SYN."""
    with socket.socket() as full, socket.socket() as one, socket.socket() as two:
        full.bind((HOST, 0))
        full.listen(0)
        for sock in (one, two):
            sock.setblocking(False)
            sock.connect_ex(full.getsockname())
        options = ProbeOptions((64 * KIB,), (1,), seconds=0.4, timeout=0.3)
        error = await refusal(full.getsockname()[1], options=options)
    assert "no answer within 0.3 s" in str(error) and "firewalls" in str(error)


async def test_a_wrong_token_is_refused_and_the_right_one_served() -> None:
    async with Server(SERVE) as far:
        error = await refusal(far.port, token="badbad")
        assert isinstance(error, RefusedError) and "wrong token; pass the one" in str(error)
        assert isinstance(await refusal(far.port, token=""), RefusedError)
        assert (await measure(HOST, far.port, token=" C0FFEE ", options=ONE)).bps > 0


async def test_a_server_without_the_token_is_not_sent_to() -> None:
    async def impostor(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(wire.encode({"groupflow_probe": 1, "nonce": "00"}))
        await reader.readline()
        writer.write(wire.encode({"proof": "00", "ticket": "00"}))
        await reader.read()

    async with faked(impostor) as port:
        error = await refusal(port)
    assert isinstance(error, RefusedError) and "does not have this token" in str(error)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "a line that is not JSON; is that `groupflow probe serve`?"),
        (b"[1]\n", "a line that is not an object"),
        (b"{}\n", "nonce: none, or not in ASCII; is that"),
        (b'{"groupflow_probe":1', "half a line"),
        (b"x" * 10_000, "a line that is too long"),
        (b"", "the server ended the connection"),
        (b'{"refused":"version"}\n', "use the same groupflow on both sides"),
    ],
)
async def test_something_else_listens(said: bytes, expected: str) -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(said)

    async with faked(other) as port:
        assert expected in str(await refusal(port))


async def test_something_silent_listens() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with faked(silent) as port:
        options = ProbeOptions((64 * KIB,), (1,), seconds=0.4, timeout=0.2)
        assert "no answer for 0.2 s" in str(await refusal(port, options=options))


async def test_one_client_at_a_time_and_the_next_when_it_is_gone() -> None:
    long = ProbeOptions((64 * KIB,), (1,), seconds=60)
    async with Server(SERVE) as far:
        first = asyncio.create_task(measure(HOST, far.port, token="c0ffee", options=long))
        await until(lambda: far.measuring)
        assert isinstance(await refusal(far.port), BusyError)
        assert not first.done()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await until(lambda: not far.measuring)
        assert (await measure(HOST, far.port, token="c0ffee", options=ONE)).bps > 0


async def test_a_client_that_waits_while_the_server_listens_anew() -> None:
    """As at each cell of another client's: the kernel has accepted the connection, the server has not."""
    async with Server(SERVE) as far:
        with socket.create_connection((HOST, far.port)) as waiting:
            far._listen(64 * KIB)  # pyright: ignore[reportPrivateUsage]
            reader, writer = await asyncio.open_connection(sock=waiting)
            writer.write(wire.encode({"groupflow_probe": wire.VERSION, "nonce": wire.nonce()}))
            async with asyncio.timeout(5):
                assert "nonce" in (await wire.read(reader) or {})
            writer.close()


async def test_a_server_that_goes_away() -> None:
    long = ProbeOptions((64 * KIB,), (1,), seconds=60)
    async with Server(SERVE) as far:
        running = asyncio.create_task(measure(HOST, far.port, token="c0ffee", options=long))
        await until(lambda: far.measuring)
    # The server may be gone before the client has opened all its connections.
    with pytest.raises(
        ProbeError, match=r"ended the connection|try again|connection (refused|reset by peer); start"
    ):
        await running


@pytest.mark.parametrize(
    "said",
    [
        b'{"data":"00"}\nbytes that nobody asked for',
        b'{"data":5}\n',
        b'{"groupflow_probe":1,"nonce":5}\n',
        b'{"groupflow_probe":2,"nonce":"00"}\n',
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xfe\n",
        b"x" * 20_000,
        b"[]\n",
        b"[" * 4000 + b"\n",
        b'{"data":"\\ud800"}\n',
        b'{"groupflow_probe":1,"nonce":"\\ud800"}\n',
    ],
)
async def test_strangers_are_put_out_and_do_no_harm(said: bytes) -> None:
    surprises: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: surprises.append(context))
    async with Server(SERVE) as far:
        reader, writer = await asyncio.open_connection(HOST, far.port)
        writer.write(said)
        async with asyncio.timeout(5):
            with suppress(ConnectionResetError):
                answer = await reader.read()
                assert b"proof" not in answer and b"ticket" not in answer
        writer.close()
        assert (await measure(HOST, far.port, token="c0ffee", options=ONE)).bps > 0
    gc.collect()
    assert not surprises


async def test_a_connection_without_the_ticket_is_not_counted() -> None:
    async with Server(SERVE) as far:
        near = client._Client(HOST, far.port, "c0ffee", ONE)  # pyright: ignore[reportPrivateUsage]
        await near.open()
        await near._ask({"buffer": None, "connections": 1, "warm_up": 0.1, "seconds": 0.1})  # pyright: ignore[reportPrivateUsage]
        reader, stranger = await asyncio.open_connection(HOST, far.port)
        stranger.write(wire.encode({"data": "00"}))
        async with asyncio.timeout(5):
            assert await reader.read() == b"", "put out at once"
        _, own = await asyncio.open_connection(HOST, far.port)
        own.write(wire.encode({"data": near._ticket}))  # pyright: ignore[reportPrivateUsage]
        assert (await near._hear(5))["bytes"] == 0, "it sent nothing more"  # pyright: ignore[reportPrivateUsage]
        for writer in (stranger, own):
            writer.close()
        await near.close()


async def test_who_says_nothing_is_put_out() -> None:
    async with Server(ServeOptions(HOST, 0, "c0ffee", answer_s=0.1)) as far:
        reader, writer = await asyncio.open_connection(HOST, far.port)
        async with asyncio.timeout(5):
            assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize(
    "request_",
    [
        {"buffer": 1, "connections": 1, "warm_up": 0.1, "seconds": 0.1},
        {"buffer": None, "connections": 65, "warm_up": 0.1, "seconds": 0.1},
        {"buffer": None, "connections": 1, "warm_up": 0.1, "seconds": 1e9},
        {"buffer": None, "connections": 1, "warm_up": float("nan"), "seconds": 0.1},
        {"buffer": None, "connections": True, "warm_up": 0.1, "seconds": 0.1},
        {"limits": [1 << 40]},
        {"limits": "all"},
        {},
    ],
)
async def test_a_client_with_the_token_is_bounded_too(request_: dict[str, Any]) -> None:
    async with Server(SERVE) as far:
        near = client._Client(HOST, far.port, "c0ffee", ONE)  # pyright: ignore[reportPrivateUsage]
        await near.open()
        with pytest.raises(ProbeError, match="the server ended the connection"):
            await near._ask(request_)  # pyright: ignore[reportPrivateUsage]
        await near.close()
        assert (await measure(HOST, far.port, token="c0ffee", options=ONE)).bps > 0


async def test_two_servers_do_not_share_a_port() -> None:
    async with Server(SERVE) as far:
        with pytest.raises(ProbeError, match=r"address already in use; choose another --listen"):
            async with Server(ServeOptions(HOST, far.port, "c0ffee")):
                pass


def test_proofs_differ_by_side_nonces_and_token() -> None:
    given = wire.proof("c0ffee", "client", "a", "b")
    assert wire.proves(given, "C0FFEE", "client", "a", "b")
    for token, side, mine, theirs in (
        ("c0ffef", "client", "a", "b"),
        ("c0ffee", "server", "a", "b"),
        ("c0ffee", "client", "b", "b"),
        ("c0ffee", "client", "a", "a"),
    ):
        assert not wire.proves(given, token, side, mine, theirs)  # pyright: ignore[reportArgumentType]
    assert not wire.proves(None, "c0ffee", "client", "a", "b")


async def test_strangers_who_hold_all_places_keep_no_client_out() -> None:
    """Each place is a stranger's who says nothing, and none of them is given up for its silence."""
    async with Server(ServeOptions(HOST, 0, "c0ffee", answer_s=60.0, pending=4)) as serving:
        strangers = [
            await asyncio.open_connection(HOST, serving.port, local_addr=("127.0.0.2", 0)) for _ in range(12)
        ]
        await until(lambda: any(reader.at_eof() for reader, _ in strangers), "the oldest give way")
        assert await measure(HOST, serving.port, token="c0ffee", options=ONE)
        for _, writer in strangers:
            writer.close()


def test_the_oldest_of_the_source_with_most_gives_way() -> None:
    assert sockets.gives_way({}) is None
    assert sockets.gives_way({1: "a", 2: "b", 3: "b", 4: "c"}) == 2
    assert sockets.gives_way({1: "a", 2: "b"}) == 1
