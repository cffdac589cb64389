"""Figures of a run: efficiency, throughput, windows and queues over time, in the run's folder."""

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
    drawings: dict[str, Callable[[Axes], None]] = {
        "efficiency": lambda axes: _efficiency(axes, results),
        "throughput": lambda axes: _throughput(axes, results),
        "windows": lambda axes: _windows(axes, results),
        "queues": lambda axes: _queues(axes, results),
    }
    return [_draw(folder / f"{name}.png", draw) for name, draw in drawings.items()]


def _draw(path: Path, draw: Callable[[Axes], None]) -> Path:
    figure, axes = subplots(figsize=(6.4, 4.0))
    draw(axes)
    axes.set_xlabel(_TIME)
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
    save(figure, path)
    return path


def _line(
    axes: Axes, series: Series, column: str, label: str, scale: float = 1.0, style: str = "default"
) -> None:
    values = [value * scale for value in series.get(column, [])]
    look = line(len(axes.lines))
    axes.plot(series.get("time_s", []), values, label=label, linewidth=0.9, drawstyle=style, **look)


def _efficiency(axes: Axes, results: Results) -> None:
    for flow in results.flows:
        _line(axes, results.efficiency(flow), "efficiency", flow)
    axes.set_ylim(0, 1.05)
    axes.set_ylabel("network efficiency")


def _throughput(axes: Axes, results: Results) -> None:
    for flow in results.flows:
        _line(axes, results.throughput(flow), "throughput_bps", flow, 1e-6)
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
