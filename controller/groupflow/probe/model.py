"""Options of a probe, its result, and its errors, each one line: cause; cure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from groupflow.errors import Error, Kind
from groupflow.model import ports


class ProbeError(Error):
    """A path could not be measured."""


class OptionsError(ProbeError):
    """Options with which nothing can be measured."""

    default = Kind.USAGE


class RefusedError(ProbeError):
    """The far side does not serve this client: trying again without a change will not help."""

    default = Kind.INVALID


class BoundedError(RefusedError):
    """The kernel of the far side does not give so large a buffer."""


class BusyError(ProbeError):
    """The far side measures with another client."""


PORT = ports.IPERF3
KIB, MIB = 1 << 10, 1 << 20
BUFFERS = (16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB)
CONNECTIONS = (1, 2, 4, 8, 16)
LEAST_BUFFER, MOST_BUFFER = 4 * KIB, 64 * MIB
MOST_CONNECTIONS = 64
LEAST_CELL_S, MOST_CELL_S = 2, 30
"""iperf3 takes whole seconds, of which one is warm-up and one is measured"""
WARM_UP = 0.4
"""share of a cell's time that does not count, because windows open"""


@dataclass(frozen=True)
class ProbeOptions:
    """The grid of buffers and connections, and the time for it. Raises ProbeError for values out of range."""

    buffers: tuple[int, ...] = BUFFERS
    """bytes of a connection, at both ends, as a program asks for them"""
    connections: tuple[int, ...] = CONNECTIONS
    seconds: float = 60.0
    """for all cells together"""
    within: float = 0.1
    """share of the best throughput that a cheaper choice may be slower by"""
    timeout: float = 5.0
    """seconds to wait for any answer"""
    adapted: bool = False
    """the kernel adapts all buffers, and `buffers` is ignored: only the number of connections is measured"""

    def __post_init__(self) -> None:
        for buffer in self.buffers:
            if not LEAST_BUFFER <= buffer <= MOST_BUFFER:
                raise OptionsError(f"a buffer of {buffer} bytes; choose {LEAST_BUFFER} to {MOST_BUFFER}")
        for number in self.connections:
            if not 1 <= number <= MOST_CONNECTIONS:
                raise OptionsError(f"{number} connections; choose 1 to {MOST_CONNECTIONS}")
        if not self.buffers or not self.connections:
            raise OptionsError("nothing to measure; name at least one buffer and one number of connections")
        if not 0 <= self.within < 1:
            raise OptionsError(f"within {self.within:g} of the best; choose 0 to below 1")
        if not 0 < self.timeout <= MOST_CELL_S:
            raise OptionsError(f"a timeout of {self.timeout:g} s; choose above 0 to {MOST_CELL_S:g} s")
        if not LEAST_CELL_S <= self.cell_s <= MOST_CELL_S:
            raise OptionsError(
                f"{self.seconds:g} s for {self.cells} measurements are {self.cell_s:.2g} s each;"
                f" choose {LEAST_CELL_S * self.cells} to {MOST_CELL_S * self.cells} s"
            )

    @property
    def cells(self) -> int:
        """The most cells that are measured: the grid, half the buffer found, and the kernel's choice."""
        if self.adapted:
            return len(set(self.connections))
        return len(set(self.buffers)) * len(set(self.connections)) + 2

    @property
    def cell_s(self) -> float:
        """Seconds of each cell."""
        return self.seconds / self.cells

    @property
    def warm_up_s(self) -> int:
        return max(1, int(WARM_UP * self.cell_s))

    @property
    def measured_s(self) -> int:
        return int(self.cell_s) - self.warm_up_s


@dataclass(frozen=True)
class Cell:
    """One buffer with one number of connections, measured."""

    buffer: int | None
    """bytes that a program asks for; None: the kernel adapts it"""
    connections: int
    bps: float
    """payload bits that the far program got in a second, of all connections together"""
    busy: float = 0.0
    """share of a core that the busier program used: near 1, the machine is measured, not the path"""


@dataclass(frozen=True)
class Probe:
    """The recommended buffer and connections of a path, and the measurements behind them."""

    buffer: int
    """bytes to set SO_SNDBUF and SO_RCVBUF to, of each connection; 0: leave them to the kernel"""
    connections: int
    bps: float
    """throughput with these"""
    rtt_s: float
    """the shortest round trip seen"""
    cells: tuple[Cell, ...]
    """the grid, and half the recommended buffer where that was measured"""
    kernel: Cell
    """one connection whose buffers the kernel adapts"""
    warnings: tuple[str, ...] = ()

    @property
    def in_flight(self) -> int:
        """The bandwidth-delay product: bytes on the way at this rate."""
        return round(self.bps / 8 * self.rtt_s)


def recommend(cells: Iterable[Cell], within: float = 0.1) -> Cell:
    """The cheapest cell of those whose buffers a program sets; those with the kernel's do not count. Raises
    ValueError where there is no cell."""
    return cheapest([cell for cell in cells if cell.buffer is not None], within)


def cheapest(cells: Sequence[Cell], within: float) -> Cell:
    """Of the cells that are at most `within` slower than the fastest, the one with the fewest connections,
    and of these the one with the smallest buffer.

    Connections first: each one more takes its share from others on the path and has to be put together
    again, while a buffer costs memory that is used only as far as it helps. Raises ValueError where there is
    no cell.
    """
    if not cells:
        raise ValueError("no cell was measured")
    enough = (1 - within) * max(cell.bps for cell in cells)
    return min(
        (cell for cell in cells if cell.bps >= enough), key=lambda cell: (cell.connections, cell.buffer or 0)
    )
