"""Figures of a run: efficiency, throughput, windows and queues over time, in the run's folder."""

import math
from collections.abc import Callable
from pathlib import Path

from groupflow.sim.results import Results, Series
from groupflow.study.drawing import Axes, line, save, subplots

_TIME = "simulation time (s)"


def plot(results: Results) -> list[Path]:
    """Draws the series in the run's folder. Returns the files. Raises ValueError for a run without series."""
    folder = results.folder
    if folder is None:
        raise ValueError("the run kept no series: run it with out=FOLDER")
    drawings: dict[str, tuple[Callable[[Axes, Results], None], str]] = {
        "efficiency": (_efficiency, "not measured: of TCP and UDP over links with rate and delay"),
        "throughput": (_throughput, "not measured: no flow has a receiver"),
        "windows": (_windows, "not measured: no flow is TCP"),
        "queues": (_queues, "no packet waited in a queue"),
    }
    return [_draw(folder / f"{name}.png", results, *how) for name, how in drawings.items()]


def _draw(path: Path, results: Results, draw: Callable[[Axes, Results], None], empty: str) -> Path:
    figure, axes = subplots(figsize=(6.4, 4.0))
    draw(axes, results)
    axes.set_xlabel(_TIME)
    if not axes.lines:
        axes.text(0.5, 0.5, empty, ha="center", transform=axes.transAxes)
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
    save(figure, path)
    return path


def _line(
    axes: Axes, series: Series, column: str, label: str, scale: float = 1.0, style: str = "default"
) -> None:
    values = [value * scale for value in series.get(column, [])]
    if all(map(math.isnan, values)):
        return
    look = line(len(axes.lines))
    axes.plot(series.get("time_s", []), values, label=label, linewidth=0.9, drawstyle=style, **look)


def _efficiency(axes: Axes, results: Results) -> None:
    for flow in results.flows:
        _line(axes, results.efficiency(flow), "efficiency", flow)
    axes.set_ylim(0, 1.05)
    axes.set_ylabel("network efficiency")


def _throughput(axes: Axes, results: Results) -> None:
    for name, flow in results.flows.items():
        if flow.delivered_bytes is not None:
            _line(axes, results.throughput(name), "throughput_bps", name, 1e-6)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("goodput (Mb/s)")


def _windows(axes: Axes, results: Results) -> None:
    for name, flow in results.flows.items():
        if flow.retransmissions is not None:
            _line(axes, results.windows(name), "cwnd_packets", name)
    axes.set_ylabel("congestion window (packets)")


def _queues(axes: Axes, results: Results) -> None:
    for node, series in results.queue_packets().items():
        # Empty queues are left out but for the first instant, which then holds.
        _line(axes, series, "packets", node, style="steps-post")
    axes.set_ylabel("packets waiting")
