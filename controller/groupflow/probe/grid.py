"""Measures the cells of a grid, each by iperf3, and recommends one."""

import asyncio
import itertools
import math
import socket
import time
from collections.abc import Callable
from typing import TypeAlias

from groupflow.errors import reason
from groupflow.probe.model import (
    LEAST_BUFFER,
    PORT,
    WARM_UP,
    BoundedError,
    Cell,
    Probe,
    ProbeError,
    ProbeOptions,
    RefusedError,
    cheapest,
)

OnCell: TypeAlias = Callable[[int, int, Cell], None]
"""called after each cell with the number of measured cells, of all cells, and the cell"""

ROUND_TRIPS = 10
"""round trips of warm-up, in which a window opens from 10 segments to 10,000"""
BUSY = 0.85
"""share of a core from which the program is the bottleneck, not the path"""
AGAIN_S = 0.05
"""between two attempts at a server that is not ready for the next test yet"""


async def measure(
    host: str, port: int = PORT, *, options: ProbeOptions | None = None, on_cell: OnCell | None = None
) -> Probe:
    """Measures the way to a host where `iperf3 -s` runs, and recommends buffer and connections.

    Raises ProbeError, RefusedError, BusyError; each says cause and cure in one line.
    """
    await _check_name(host, port)
    return await _Grid(
        host, port, options or ProbeOptions(), on_cell or (lambda done, of, cell: None)
    ).probe()


async def _check_name(host: str, port: int) -> None:
    """Raises ProbeError for a name without an address, for which iperf3 has no clear error."""
    where = f"{host}:{port}"
    try:
        await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise ProbeError(f"{where}: {reason(error)}; check the name or write the address") from None
    except UnicodeError:  # the text cannot be a host's name
        raise ProbeError(f"{where}: not a host's name; check it or write the address") from None


class _Grid:
    def __init__(self, host: str, port: int, options: ProbeOptions, on_cell: OnCell) -> None:
        self._host, self._port, self._options, self._on_cell = host, port, options, on_cell
        self._measured: list[Cell] = []
        self._warnings: list[str] = []
        self._rtt_s = math.inf
        self._refused = math.inf
        """the smallest buffer that the far side refuses"""

    async def probe(self) -> Probe:
        """Measures the kernel's choice and the grid; where buffers are adapted, only the kernel's choices."""
        options = self._options
        numbers = sorted(set(options.connections))
        for number in numbers if options.adapted else numbers[:1]:
            await self._measure(None, number)
        if not options.adapted:
            await self._measure_buffers(numbers)
        cells = tuple(self._measured if options.adapted else self._measured[1:])
        best = cheapest(cells, options.within)
        self._on_cell(options.cells, options.cells, best)
        return Probe(
            buffer=best.buffer or 0,
            connections=best.connections,
            bps=best.bps,
            rtt_s=self._rtt_s,
            cells=cells,
            kernel=self._measured[0],
            warnings=(*self._warnings, *self._doubts(cells)),
        )

    async def _measure_buffers(self, numbers: list[int]) -> None:
        """Measures the grid, and half of the buffer that it recommends. Raises ProbeError."""
        buffers = self._buffers()
        for number, buffer in itertools.product(numbers, buffers):
            if buffer < self._refused:
                try:
                    await self._measure(buffer, number)
                except BoundedError as error:
                    self._refused = buffer
                    self._warnings.append(str(error))
        if len(self._measured) == 1:
            raise RefusedError(self._warnings[-1])
        best = cheapest(self._measured[1:], self._options.within)
        half = (best.buffer or 0) // 2
        if half >= LEAST_BUFFER and half not in buffers:
            await self._measure(half, best.connections)

    def _buffers(self) -> list[int]:
        """The buffers that programs get here. Warns of each limit that bounds them."""
        asked = sorted(set(self._options.buffers))
        most = {
            "net.core.wmem_max": granted(socket.SO_SNDBUF, asked[-1]),
            "net.core.rmem_max": granted(socket.SO_RCVBUF, asked[-1]),
        }
        self._warnings += [
            f"{limit} of this host gives no more than {bound} of {asked[-1]} bytes;"
            f" to measure more, raise it here: sysctl -w {limit}={asked[-1]}"
            for limit, bound in most.items()
            if bound < asked[-1]
        ]
        return sorted({min(buffer, *most.values()) for buffer in asked})

    async def _measure(self, buffer: int | None, connections: int) -> None:
        """Measures one cell. The server may refuse it for a moment, while it clears up the last one."""
        from groupflow.probe import iperf3  # with pydantic, which slows the start of other commands

        until = time.monotonic() + self._options.timeout
        while True:
            try:
                cell, rtt_s = await iperf3.run(self._host, self._port, buffer, connections, self._options)
                break
            except RefusedError:
                raise
            except ProbeError:
                if not self._measured or time.monotonic() > until:
                    raise
            await asyncio.sleep(AGAIN_S)
        self._measured.append(cell)
        self._rtt_s = min(self._rtt_s, rtt_s)
        self._on_cell(len(self._measured), self._options.cells, cell)

    def _doubts(self, cells: tuple[Cell, ...]) -> list[str]:
        """Reasons why the figures may not be the path's, a line each."""
        doubts: list[str] = []
        needed = ROUND_TRIPS * self._rtt_s
        if self._options.warm_up_s < needed:
            longer = math.ceil(math.ceil(needed) / WARM_UP) * self._options.cells
            doubts.append(
                f"windows may still have been opening: a round trip takes {1000 * self._rtt_s:.0f} ms;"
                f" measure for --time {longer}s"
            )
        fastest = max(cells, key=lambda cell: cell.bps)
        if fastest.busy > BUSY:
            doubts.append(
                f"the fastest had a core busy for {fastest.busy:.0%}: iperf3 was measured, not the path,"
                " which carries at least as much"
            )
        return doubts


def granted(option: int, buffer: int) -> int:
    """Bytes that a program here gets when it asks for that size of SO_SNDBUF or SO_RCVBUF.

    Linux bounds them by net.core.wmem_max and net.core.rmem_max. It doubles what it gives, to have room for
    its own bookkeeping (socket(7)).
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, option, buffer)
        return min(buffer, sock.getsockopt(socket.SOL_SOCKET, option) // 2)
