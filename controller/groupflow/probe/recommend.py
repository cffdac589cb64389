"""Chooses one of the measured cells. Pure functions."""

from collections.abc import Iterable

from groupflow.probe.model import Cell


def recommend(cells: Iterable[Cell], within: float = 0.1) -> Cell:
    """Of the cells that are at most `within` slower than the fastest, the one with the fewest connections,
    and of these the one with the smallest buffer. Cells without a buffer do not count.

    Connections first: each one more takes its share from others on the path and has to be put together
    again, while a buffer costs memory that is used only as far as it helps. Raises ValueError where there is
    no cell.
    """
    choices = [(cell.connections, cell.buffer, cell) for cell in cells if cell.buffer is not None]
    if not choices:
        raise ValueError("no cell with a buffer was measured")
    enough = (1 - within) * max(cell.bps for _, _, cell in choices)
    return min((c for c in choices if c[2].bps >= enough), key=lambda choice: choice[:2])[2]


def fewest(cells: Iterable[Cell], within: float) -> Cell:
    """Of the cells that are at most `within` slower than the fastest, the one with the fewest connections,
    whatever their buffers. Raises ValueError where there is no cell."""
    choices = list(cells)
    enough = (1 - within) * max(cell.bps for cell in choices)
    return min((cell for cell in choices if cell.bps >= enough), key=lambda cell: cell.connections)
