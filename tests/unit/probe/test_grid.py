"""Which cells are measured, and what is said about them; at the end by iperf3 itself."""

from __future__ import annotations

import asyncio
import math
import socket
import subprocess
from asyncio.subprocess import PIPE
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from groupflow.probe import BusyError, Cell, ProbeError, ProbeOptions, RefusedError, grid, iperf3, measure
from groupflow.probe.model import BoundedError

HOST = "127.0.0.1"
KIB = 1024
SMALL = ProbeOptions((16 * KIB, 64 * KIB), (2, 1), seconds=12, timeout=0.2)


class Path:
    """In place of iperf3: a path on which a cell's rate is bounded by its bytes, and the cells measured."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.measured: list[tuple[int | None, int]] = []
        self.in_flight = 100 * KIB
        self.far_bound = math.inf
        self.busy, self.rtt_s = 0.1, 0.02
        self.failures: dict[int, Callable[[], ProbeError]] = {}
        """errors by the number of the attempt, from 0 on"""
        self._attempts = 0
        monkeypatch.setattr(iperf3, "run", self.run)

    async def run(
        self, host: str, port: int, buffer: int | None, connections: int, options: ProbeOptions
    ) -> tuple[Cell, float]:
        attempt, self._attempts = self._attempts, self._attempts + 1
        if attempt in self.failures:
            raise self.failures[attempt]()
        if buffer and buffer > self.far_bound:
            raise BoundedError(f"{host} refuses a buffer of {buffer} bytes")
        self.measured.append((buffer, connections))
        carried = min(self.in_flight, connections * (buffer or self.in_flight))
        rtt_s = self.rtt_s * (1 + len(self.measured))
        return Cell(buffer, connections, 1e7 * carried / self.in_flight, self.busy), rtt_s


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch) -> Path:
    return Path(monkeypatch)


async def test_the_kernels_choice_comes_first_and_half_the_buffer_last(path: Path) -> None:
    seen: list[tuple[int, int, Cell]] = []
    probe = await measure(HOST, options=SMALL, on_cell=lambda done, of, cell: seen.append((done, of, cell)))
    assert path.measured == [
        (None, 1), (16 * KIB, 1), (64 * KIB, 1), (16 * KIB, 2), (64 * KIB, 2), (32 * KIB, 2),
    ]  # fmt: skip
    assert (probe.buffer, probe.connections, probe.bps) == (64 * KIB, 2, 1e7)
    assert probe.kernel == Cell(None, 1, 1e7, 0.1) and len(probe.cells) == 5 and not probe.warnings
    assert probe.rtt_s == pytest.approx(0.04), "the shortest of all"
    assert [done for done, _, _ in seen] == [1, 2, 3, 4, 5, 6, 6] and {of for _, of, _ in seen} == {6}


async def test_half_the_buffer_may_be_recommended(path: Path) -> None:
    probe = await measure(HOST, options=ProbeOptions((256 * KIB,), (1,), seconds=6))
    assert path.measured == [(None, 1), (256 * KIB, 1), (128 * KIB, 1)] and probe.buffer == 128 * KIB


async def test_where_buffers_are_the_kernels_only_connections_are_measured(path: Path) -> None:
    probe = await measure(HOST, options=ProbeOptions(connections=(2, 1), seconds=4, adapted=True))
    assert path.measured == [(None, 1), (None, 2)]
    assert probe.buffer == 0 and probe.connections == 1 and len(probe.cells) == 2


async def test_a_bound_here_is_shown_and_measured_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def granted(option: int, buffer: int) -> int:
        return min(buffer, 40 * KIB if option == socket.SO_SNDBUF else 1 << 30)

    monkeypatch.setattr(grid, "granted", granted)
    probe = await measure(HOST, options=ProbeOptions((16 * KIB, 64 * KIB, 256 * KIB), (1,), seconds=10))
    assert path.measured == [(None, 1), (16 * KIB, 1), (40 * KIB, 1), (20 * KIB, 1)]
    assert probe.warnings == (
        "net.core.wmem_max of this host gives no more than 40960 of 262144 bytes;"
        " to measure more, raise it here: sysctl -w net.core.wmem_max=262144",
    )


async def test_a_bound_there_is_shown_and_asked_for_once(path: Path) -> None:
    path.far_bound = 100 * KIB
    probe = await measure(
        HOST, options=ProbeOptions((16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB), (1, 2), seconds=20)
    )
    assert {buffer for buffer, _ in path.measured} == {None, 16 * KIB, 64 * KIB, 32 * KIB}
    assert probe.warnings == (f"{HOST} refuses a buffer of 262144 bytes",)
    with pytest.raises(RefusedError, match="refuses a buffer of 262144 bytes"):
        await measure(HOST, options=ProbeOptions((256 * KIB,), (1, 2), seconds=8))


def test_what_the_kernel_grants() -> None:
    assert grid.granted(socket.SO_SNDBUF, 16 * KIB) == 16 * KIB
    assert 4 * KIB < grid.granted(socket.SO_RCVBUF, 1 << 30) < 1 << 30


async def test_a_server_that_still_clears_up_is_asked_again(path: Path) -> None:
    path.failures = {1: lambda: BusyError("busy"), 2: lambda: ProbeError("refused")}
    assert (await measure(HOST, options=SMALL)).bps == 1e7


@pytest.mark.parametrize("attempt", [0, 3])
async def test_a_server_that_stays_busy_or_is_gone(path: Path, attempt: int) -> None:
    """At the first cell at once, later after the timeout."""
    path.failures = dict.fromkeys(range(attempt, 100), lambda: BusyError("busy"))
    with pytest.raises(BusyError):
        await measure(HOST, options=SMALL)
    assert len(path.measured) == attempt


async def test_a_short_warm_up_is_said(path: Path) -> None:
    path.rtt_s = 0.06
    probe = await measure(HOST, options=SMALL)
    assert probe.warnings == (
        "windows may still have been opening: a round trip takes 120 ms; measure for --time 30s",
    )
    path.measured.clear()
    assert not (await measure(HOST, options=ProbeOptions(SMALL.buffers, (1, 2), seconds=30))).warnings


async def test_a_busy_core_is_said(path: Path) -> None:
    path.busy = 0.97
    (warning,) = (await measure(HOST, options=SMALL)).warnings
    assert "a core busy for 97%: iperf3 was measured, not the path" in warning


async def test_a_name_without_an_address(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(ProbeError, match=r"bad\.\.name:5201: not a host's name"):
        await measure("bad..name")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ProbeError, match="elsewhere:5201: name or service not known; check the name"):
        await measure("elsewhere")
    assert not path.measured


@contextmanager
def serving() -> Generator[int]:
    """An `iperf3 -s` on a free port."""
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(["iperf3", "-s", "-p", str(port), "--forceflush"], stdout=subprocess.PIPE) as far:
        try:
            assert far.stdout is not None
            while b"listening" not in far.stdout.readline():
                assert far.poll() is None
            yield port
        finally:
            far.terminate()


@pytest.mark.slow
async def test_iperf3_itself() -> None:
    with serving() as port:
        probe = await measure(HOST, port, options=ProbeOptions((64 * KIB,), (2,), seconds=6))
        assert [(cell.buffer, cell.connections) for cell in probe.cells] == [(64 * KIB, 2), (32 * KIB, 2)]
        assert all(cell.bps > 1e7 and cell.busy > 0 for cell in (probe.kernel, *probe.cells))
        assert 0 < probe.rtt_s < 0.1
    with pytest.raises(ProbeError, match="connection refused; start `iperf3 -s` there"):
        await measure(HOST, port)


@pytest.mark.slow
async def test_iperf3_is_busy_with_another() -> None:
    short = ProbeOptions(connections=(1,), seconds=2, adapted=True)

    with serving() as port:
        command = ("iperf3", "-c", HOST, "-p", str(port), "-t", "60", "--forceflush")
        other = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
        assert other.stdout
        while b"connected to" not in (line := await other.stdout.readline()):
            assert line, "the server has refused the first client"
        with pytest.raises(BusyError):
            await iperf3.run(HOST, port, None, 1, short)
        other.kill()
        await other.wait()
