"""Rates and times as figures; diamonds are the paper's."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from groupflow.study.drawing import PALE, marked, panel
from papers.cmt.sockets import paper
from papers.cmt.sockets.outcome import Found, mbps


def table_1(path: Path, found: Found) -> None:
    """Draws the rate over the buffer."""
    with panel(path, (5.6, 3.6)) as axis:
        axis.axvline(found.path.in_flight / paper.KB, color=PALE, label="bandwidth-delay product")
        _rates(axis, {b / paper.KB: s for b, s in found.column(1).items()}, "netsim")
        _paper(axis, {b / paper.KB: mbps(s) for b, s in paper.TABLE_1_S.items()})
        axis.set_xscale("log", base=2)
        axis.set(xlabel="Socket buffer [KB], one connection", ylabel="Rate [Mbps]", ylim=(0, None))


def table_2(path: Path, found: Found) -> None:
    """Draws the rate over the number of connections."""
    with panel(path, (5.6, 3.6)) as axis:
        _rates(axis, found.row(paper.SMALL), "netsim")
        _paper(axis, {n: mbps(s) for n, s in paper.TABLE_2_S.items()})
        axis.set(xlabel="Connections, 8 KB each", ylabel="Rate [Mbps]", xlim=(0, None), ylim=(0, None))


def figure_2(path: Path, found: Found) -> None:
    """Draws the time over the number of connections; in the band the paper's time is shortest."""
    with panel(path, (5.6, 3.6)) as axis:
        axis.axvspan(paper.BEST_FROM, paper.BEST_TO, color=PALE, alpha=0.4, label="the paper's shortest")
        times(axis, found.row(paper.MIDDLE), "netsim", 0)
        _paper(axis, {1: paper.TABLE_1_S[paper.MIDDLE], paper.THREE: paper.THREE_S})
        axis.set(xlabel="Connections, 32 KB each", ylabel="Time [s]", xlim=(0, None), ylim=(0, None))


def grid(path: Path, found: Found) -> None:
    """Draws the rate over the number of connections, a line for each buffer."""
    with panel(path, (5.6, 3.6), ncols=2) as axis:
        for number, buffer in enumerate(sorted({b for b, _ in found.times})):
            _rates(axis, found.row(buffer), f"{buffer // paper.KB} KB", number)
        axis.set(xlabel="Connections", ylabel="Rate [Mbps]", ylim=(0, None))


def times(axis: Any, seconds: Mapping[int, float], label: str, number: int) -> None:
    """Draws a line of times."""
    axis.plot(list(seconds), list(seconds.values()), label=label, **marked(number))


def _rates(axis: Any, seconds: Mapping[Any, float], label: str, number: int = 0) -> None:
    rates = [mbps(value) for value in seconds.values()]
    axis.plot(list(seconds), rates, label=label, **marked(number))


def _paper(axis: Any, values: Mapping[Any, float]) -> None:
    axis.plot(list(values), list(values.values()), linestyle="none", label="paper", **marked(3))
