"""Rates and times as figures; diamonds are the paper's."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from groupflow.study.drawing import COLOURS, PALE, save, subplots
from papers.cmt.sockets.outcome import Found, mbps
from papers.cmt.sockets.paper import (
    BEST_FROM,
    BEST_TO,
    KB,
    MIDDLE,
    SMALL,
    TABLE_1_S,
    TABLE_2_S,
    THREE,
    THREE_S,
)


def table_1(path: Path, found: Found) -> None:
    """Draws the rate over the buffer."""
    drawing, axis = subplots(figsize=(5.6, 3.6))
    axis.axvline(found.path.in_flight / KB, color=PALE, label="bandwidth-delay product")
    _rates(axis, {b / KB: s for b, s in found.column(1).items()}, "netsim")
    _paper(axis, {b / KB: mbps(s) for b, s in TABLE_1_S.items()})
    axis.set_xscale("log", base=2)
    axis.set(xlabel="Socket buffer [KB], one connection", ylabel="Rate [Mbps]", ylim=(0, None))
    axis.legend(fontsize="small")
    save(drawing, path)


def table_2(path: Path, found: Found) -> None:
    """Draws the rate over the number of connections."""
    drawing, axis = subplots(figsize=(5.6, 3.6))
    _rates(axis, found.row(SMALL), "netsim")
    _paper(axis, {n: mbps(s) for n, s in TABLE_2_S.items()})
    axis.set(xlabel="Connections, 8 KB each", ylabel="Rate [Mbps]", xlim=(0, None), ylim=(0, None))
    axis.legend(fontsize="small")
    save(drawing, path)


def figure_2(path: Path, found: Found) -> None:
    """Draws the time over the number of connections; in the band the paper's time is shortest."""
    drawing, axis = subplots(figsize=(5.6, 3.6))
    axis.axvspan(BEST_FROM, BEST_TO, color=PALE, alpha=0.4, label="the paper's shortest")
    times(axis, found.row(MIDDLE), "netsim", 0)
    _paper(axis, {1: TABLE_1_S[MIDDLE], THREE: THREE_S})
    axis.set(xlabel="Connections, 32 KB each", ylabel="Time [s]", xlim=(0, None), ylim=(0, None))
    axis.legend(fontsize="small")
    save(drawing, path)


def grid(path: Path, found: Found) -> None:
    """Draws the rate over the number of connections, a line for each buffer."""
    drawing, axis = subplots(figsize=(5.6, 3.6))
    for number, buffer in enumerate(sorted({b for b, _ in found.times})):
        _rates(axis, found.row(buffer), f"{buffer // KB} KB", number)
    axis.set(xlabel="Connections", ylabel="Rate [Mbps]", ylim=(0, None))
    axis.legend(fontsize="small", ncols=2)
    save(drawing, path)


def times(axis: Any, seconds: Mapping[int, float], label: str, number: int) -> None:
    """Draws a line of times."""
    axis.plot(
        list(seconds), list(seconds.values()), color=COLOURS[number % len(COLOURS)], marker="o",
        markersize=3, label=label,
    )  # fmt: skip


def _rates(axis: Any, seconds: Mapping[Any, float], label: str, number: int = 0) -> None:
    rates = [mbps(value) for value in seconds.values()]
    axis.plot(list(seconds), rates, color=COLOURS[number], marker="o", markersize=4, label=label)


def _paper(axis: Any, values: Mapping[Any, float]) -> None:
    axis.plot(
        list(values), list(values.values()), color=COLOURS[1], marker="D", linestyle="none", label="paper"
    )
