"""The near side of a probe: sends over each number of connections with each buffer, and recommends both."""

import asyncio
import itertools
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from groupflow.errors import reason
from groupflow.probe import wire
from groupflow.probe.model import (
    LEAST_BUFFER,
    PORT,
    WARM_UP,
    BusyError,
    Cell,
    Probe,
    ProbeError,
    ProbeOptions,
    RefusedError,
    fewest,
    recommend,
)
from groupflow.probe.sockets import CHUNK, RECEIVE_LIMIT, SEND_LIMIT, connect, granted, reset

OnCell: TypeAlias = Callable[[int, int, Cell], None]
"""called after each cell with the number of measured cells, of all cells, and the cell"""

ROUND_TRIPS = 10
"""round trips of warm-up, in which a window opens from 10 segments to 10,000"""
BUSY = 0.85
"""share of a core from which the program is the bottleneck, not the path"""


async def measure(
    host: str,
    port: int = PORT,
    *,
    token: str,
    options: ProbeOptions | None = None,
    on_cell: OnCell | None = None,
) -> Probe:
    """Measures the way to a host where `groupflow probe serve` runs, and recommends buffer and connections.

    Raises ProbeError, RefusedError (wrong token), BusyError; each says cause and cure in one line.
    """
    client = _Client(host, port, token, options or ProbeOptions())
    try:
        await client.open()
        told: OnCell = on_cell or (lambda done, of, cell: None)
        return await client.probe(told)
    except wire.LineError as error:
        raise ProbeError(f"{client.where}: said {error}; is that `groupflow probe serve`?") from None
    except TimeoutError:
        raise ProbeError(
            f"{client.where}: no answer for {client.options.timeout:g} s; is that `groupflow probe serve`,"
            " and is the way to it still there?"
        ) from None
    except OSError as error:
        raise ProbeError(f"{client.where}: {reason(error)}; try again") from None
    finally:
        await client.close()


class _Client:
    def __init__(self, host: str, port: int, token: str, options: ProbeOptions) -> None:
        self.where = f"{host}:{port}"
        self.options = options
        self._host, self._port, self._token = host, port, token
        self._ticket = ""
        self._rtt_s = float("inf")
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def open(self) -> None:
        """Connects, and proves the token to the server, which proves it too. Raises ProbeError."""
        began = time.monotonic()
        sock = await connect(self._host, self._port, self.options.timeout)
        self._rtt_s = time.monotonic() - began
        self._streams = await asyncio.open_connection(sock=sock, limit=wire.LONGEST_LINE)
        mine = wire.nonce()
        hello = await self._ask({"groupflow_probe": wire.VERSION, "nonce": mine})
        theirs = wire.word(hello, "nonce")
        answer = await self._ask({"proof": wire.proof(self._token, "client", mine, theirs)})
        if not wire.proves(answer.get("proof"), self._token, "server", mine, theirs):
            raise RefusedError(f"{self.where}: the server does not have this token; is the address right?")
        self._ticket = wire.word(answer, "ticket")

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            with suppress(OSError):
                await self._streams[1].wait_closed()

    async def probe(self, on_cell: OnCell) -> Probe:
        """Measures the kernel's choice and the grid; where buffers are adapted, only the kernel's choices."""
        adapted, within = self.options.adapted, self.options.within
        numbers = sorted(set(self.options.connections))
        buffers, warnings = ([], []) if adapted else await self._buffers()
        of_kernel = [(number, None) for number in (numbers if adapted else numbers[:1])]
        planned = [*of_kernel, *itertools.product(numbers, buffers)]
        total = len(planned) + (0 if adapted else 1)
        measured: list[Cell] = []
        for number, buffer in planned:
            measured.append(await self._cell(buffer, number))
            on_cell(len(measured), total, measured[-1])
        cells = measured if adapted else measured[1:]
        best = fewest(cells, within) if adapted else recommend(cells, within)
        half = (best.buffer or 0) // 2
        if half >= LEAST_BUFFER and half not in buffers:
            cells.append(await self._cell(half, best.connections))
            best = recommend(cells, within)
        if not adapted:
            on_cell(total, total, best)
        return Probe(
            buffer=best.buffer or 0,
            connections=best.connections,
            bps=best.bps,
            rtt_s=self._rtt_s,
            cells=tuple(cells),
            kernel=measured[0],
            warnings=(*warnings, *self._doubts(cells)),
        )

    async def _buffers(self) -> tuple[list[int], list[str]]:
        """The buffers that both sides get, and a line about each limit that refused others."""
        asked = sorted(set(self.options.buffers))
        answer = await self._ask({"limits": asked})
        theirs: Any = answer.get("granted")
        if not isinstance(theirs, list) or len(theirs) != len(asked):  # pyright: ignore[reportUnknownArgumentType]
            raise wire.LineError("no list of buffers")
        there = [int(wire.number({"granted": b}, "granted", 1, 1 << 40)) for b in theirs]  # pyright: ignore[reportUnknownVariableType]
        here = granted(socket.SO_SNDBUF, asked)
        warnings = [
            f"{side} gives no more than {max(got)} of {asked[-1]} bytes;"
            f" to measure more, raise it there: sysctl -w {limit}={asked[-1]}"
            for side, limit, got in (
                (f"{SEND_LIMIT} of this host", SEND_LIMIT, here),
                (f"{RECEIVE_LIMIT} of {self._host}", RECEIVE_LIMIT, there),
            )
            if got[-1] < asked[-1]
        ]
        return sorted({min(three) for three in zip(asked, here, there, strict=True)}), warnings

    async def _cell(self, buffer: int | None, connections: int) -> Cell:
        """Measures one cell. Raises ProbeError, OSError, TimeoutError."""
        warm_up = WARM_UP * self.options.cell_s
        seconds = self.options.cell_s - warm_up
        await self._ask(
            {"buffer": buffer, "connections": connections, "warm_up": warm_up, "seconds": seconds}
        )
        sockets: list[socket.socket] = []
        pumps: list[asyncio.Task[None]] = []
        try:
            for _ in range(connections):
                sockets.append(await connect(self._host, self._port, self.options.timeout, buffer))
            busy, began = time.process_time(), time.monotonic()
            pumps += [asyncio.create_task(_pump(sock, self._ticket)) for sock in sockets]
            answer = await self._hear(self.options.cell_s + self.options.timeout)
            busy = (time.process_time() - busy) / (time.monotonic() - began)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for sock in sockets:
                reset(sock)
        count = wire.number(answer, "bytes", 0, 1 << 60)
        took = wire.number(answer, "seconds", 1e-3, 1e6)
        theirs = wire.number(answer, "busy", 0, 1e6)
        return Cell(buffer, connections, count * 8 / took, max(busy, theirs))

    async def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Sends one line and returns the answer. Raises ProbeError, OSError, TimeoutError."""
        if self._streams is None:
            raise ProbeError(f"{self.where}: not connected")
        began = time.monotonic()
        self._streams[1].write(wire.encode(message))
        answer = await self._hear(self.options.timeout)
        self._rtt_s = min(self._rtt_s, time.monotonic() - began)
        return answer

    async def _hear(self, seconds: float) -> dict[str, Any]:
        if self._streams is None:
            raise ProbeError(f"{self.where}: not connected")
        async with asyncio.timeout(seconds):
            answer = await wire.read(self._streams[0])
        if answer is None:
            raise ProbeError(
                f"{self.where}: the server ended the connection; read its messages, and try again"
            )
        match answer.get("refused"):
            case None:
                return answer
            case "token":
                raise RefusedError(
                    f"{self.where}: wrong token; pass the one it printed in GROUPFLOW_TOKEN or a --token-file"
                )
            case "busy":
                raise BusyError(f"{self.where}: the server measures with another client; try again later")
            case why:
                raise RefusedError(
                    f"{self.where}: refused: {why!s:.40}; use the same groupflow on both sides"
                )

    def _doubts(self, cells: list[Cell]) -> list[str]:
        """Reasons why the figures may not be the path's, a line each."""
        doubts: list[str] = []
        warm_up = WARM_UP * self.options.cell_s
        if warm_up < ROUND_TRIPS * self._rtt_s:
            longer = self.options.seconds * ROUND_TRIPS * self._rtt_s / warm_up
            doubts.append(
                f"windows may still have been opening: a round trip takes {1000 * self._rtt_s:.0f} ms;"
                f" measure for --seconds {longer:.0f}"
            )
        fastest = max(cells, key=lambda cell: cell.bps)
        if fastest.busy > BUSY:
            doubts.append(
                f"the fastest had a core busy for {fastest.busy:.0%}: this program was measured,"
                " not the path, which carries at least as much"
            )
        return doubts


async def _pump(sock: socket.socket, ticket: str) -> None:
    """Sends until cancelled, or until the other side has enough."""
    loop = asyncio.get_running_loop()
    chunk = memoryview(bytes(CHUNK))
    with suppress(OSError):
        await loop.sock_sendall(sock, wire.encode({"data": ticket}))
        while True:
            await loop.sock_sendall(sock, chunk)
            await asyncio.sleep(0)  # a fast receiver does not keep the others waiting
