"""The report's pictures: SVG by matplotlib, for wide screens and for phones, in the page's colours."""

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from importlib import import_module
from itertools import pairwise, product
from typing import Any, TypeAlias

from experiments.demo.results import Report, Run, Transport
from groupflow.files import variants
from groupflow.model.topology import Topology
from groupflow.study.drawing import Axes, blank, vector

Point: TypeAlias = tuple[float, float]
Draw: TypeAlias = Callable[[Axes], None]
_NAMES = ("ink", "soft", "grid", "panel", "wire", "group", "tcp", "lost", "full")
_COLOURS = {name: f"#0000{number:02x}" for number, name in enumerate(_NAMES, 0xE0)}
"""stand for the style sheet's variables, which differ between light and dark"""
_KINDS = {"groupflow": _COLOURS["group"], "TCP": _COLOURS["tcp"]}
_STYLE = {
    "svg.fonttype": "none", "font.size": 9, "axes.grid": False, "grid.alpha": 1,
    "axes.spines.top": False, "axes.spines.right": False,
    "axes.titlelocation": "left", "axes.titlesize": 9, "axes.titleweight": "bold", "axes.axisbelow": True,
    "grid.color": _COLOURS["grid"], "axes.edgecolor": _COLOURS["soft"], "text.color": _COLOURS["ink"],
    "xtick.color": _COLOURS["soft"], "ytick.color": _COLOURS["soft"], "axes.labelcolor": _COLOURS["soft"],
}  # fmt: skip


def picture(title: str, cells: Sequence[Draw], columns: int, wide: Point, narrow: Point) -> str:
    """A figure of both sizes (inches): cells in rows, and for a phone column after column below each other.
    The style sheet shows the one that fits."""
    below = [cell for column in range(columns) for cell in cells[column::columns]]
    return _svg(title, wide, "wide", cells, columns) + _svg(title, narrow, "narrow", below, 1)


def _svg(title: str, size: Point, kind: str, cells: Sequence[Draw], columns: int) -> str:
    matplotlib: Any = import_module("matplotlib")
    with matplotlib.rc_context():
        figure = blank(size, _STYLE | {"svg.hashsalt": title + kind})
        axes = figure.subplots(len(cells) // columns, columns, squeeze=False)
        for axis, draw in zip(axes.flat, cells, strict=True):
            draw(axis)
        drawn = vector(figure)
    drawn = drawn[drawn.index("<svg") + 4 :].replace(' version="1.1"', "", 1)
    for name, colour in _COLOURS.items():
        drawn = drawn.replace(colour, f"var(--{name})")
    return f'<svg class="{kind}" role="img" aria-label="{escape(title, quote=True)}"{drawn}'


def network(report: Report, topology: Topology) -> str:
    """Copies of the file on each link, by groupflow beside TCP; the hosts of a network are one box."""
    run = report.runs[0]
    cells = [partial(_links, topology, run, name, each) for name, each in run.measured]
    count = len(cells)
    return picture("Copies of the file on each link", cells, count, (11, 3.1), (4.2, 2.9 * count))


def _links(topology: Topology, run: Run, name: str, each: Transport, axis: Axes) -> None:
    boxes, links = _boxes(topology)
    axis.set_title(f"{name}, {run.name}")
    for (one, other), (source, target) in links.items():
        copies = max(use.copies for use in each.links if (use.source, use.target) in product(source, target))
        (x1, y1), (x2, y2) = boxes[one], boxes[other]
        used = {"color": _KINDS[name] if copies >= 0.5 else _COLOURS["wire"], "linewidth": 1 + 0.75 * copies}
        axis.plot((x1, x2), (y1, y2), solid_capstyle="butt", zorder=1, **used)
        label = f"{copies:.2f}×" if copies >= 0.005 else "0×"
        place = {"ha": "center", "va": "center", "weight": "bold", "fontsize": 9, "zorder": 2}
        back = {"facecolor": _COLOURS["panel"], "edgecolor": "none", "pad": 1.5}
        axis.text((x1 + x2) / 2, (y1 + y2) / 2, label, bbox=back, **place)
    for name, (x, y) in boxes.items():
        switch = name in topology.switches
        box = {"boxstyle": "round,pad=0.45", "edgecolor": _COLOURS["ink"]}
        box["facecolor"] = _COLOURS["ink" if switch else "panel"]
        text = {"color": _COLOURS["panel" if switch else "ink"], "ha": "center", "va": "center"}
        axis.text(x, y, name, bbox=box, zorder=3, **text)
    axis.set_xlim(-1.5, 2.5)
    axis.set_ylim(-1.1, 1.35)
    axis.set_axis_off()


def _boxes(topology: Topology) -> tuple[dict[str, Point], dict[tuple[str, str], tuple[list[str], list[str]]]]:
    """Places of the boxes of Fig. 5, and between which boxes data flow: from these nodes, to those."""
    agents = variants.agents(topology)
    groups: dict[str, list[str]] = {}
    for name in topology.hosts:
        if name not in agents:
            groups.setdefault(name[:2], []).append(name)
    boxes: dict[str, Point] = {name: (float(at), 0.0) for at, name in enumerate(topology.switches)}
    links = {("s1", "s2"): (["s1"], ["s2"])}
    for at, (hosts, home) in enumerate((group, topology.hosts[group[0]].switch) for group in groups.values()):
        name = hosts[0] if len(hosts) == 1 else f"{hosts[0]}–{hosts[-1][2:]}"
        boxes[name] = (-1.1 if home == "s1" else 2.1, 0.8 - 1.6 * (at % 2))
        links[name, home] = (hosts, [home]) if at == 0 else ([home], hosts)
    for agent in sorted(agents):
        home = topology.hosts[agent].switch
        boxes[agent] = (boxes[home][0], 1.1)
        links[home, agent] = ([home], [agent])
    return boxes, links


def lanes(report: Report) -> str:
    """The rate of each receiver over time, in a lane of its own, with its time and repairs."""
    runs = report.runs
    last = max(each.group.seconds or each.receivers[0].series[-1][0] for each in runs if each.receivers)
    cells = [partial(_lanes, run, report.parameters.rate_bps, last) for run in runs]
    height = 0.9 + 0.21 * len(runs[0].receivers)
    size = (4.2, height * len(runs))
    return picture("Rate of each receiver over time", cells, len(runs), (11, height), size)


def _lanes(run: Run, rate_bps: int, last: float, axis: Axes) -> None:
    for lane, each in enumerate(reversed(run.receivers)):
        points = [(0.0, 0), *((t, b) for t, b in each.series if t > 0)]
        spans = [(t0, t1, (b1 - b0) * 8 / (t1 - t0)) for (t0, b0), (t1, b1) in pairwise(points) if t1 > t0]
        times = [at for start, end, _ in spans for at in (start, end)]
        tops = [lane + 0.85 * min(1.0, rate / rate_bps) for _, _, rate in spans for _ in range(2)]
        axis.fill_between(times, lane, tops, color=_COLOURS["group"], linewidth=0)
        axis.axhline(lane, color=_COLOURS["grid"], linewidth=0.6)
        told = "not complete" if each.seconds is None else f"{each.seconds:.2f} s · {each.repaired_packets:,}"
        axis.text(1.01, lane + 0.4, told, transform=axis.get_yaxis_transform(), va="center", fontsize=8)
    axis.set_yticks(
        [lane + 0.4 for lane in range(len(run.receivers))], [r.name for r in reversed(run.receivers)]
    )
    axis.tick_params(axis="y", length=0, labelcolor=_COLOURS["ink"])
    axis.set_xlim(0, last)
    axis.set_ylim(0, len(run.receivers))
    axis.set_title(f"{run.name}: seconds · packets repaired", loc="right")
    axis.set_xlabel("seconds")


def queues(report: Report) -> str:
    """The fullest queue and the drops over time; groupflow and TCP have a panel each."""
    rows = [(what, name) for what in ("waiting", "drops") for name, _ in report.runs[0].measured]
    cells = [partial(_over_time, run, *row) for row in rows for run in report.runs]
    wide, narrow = (11, 1.35 * len(rows)), (4.2, 1.35 * len(cells))
    return picture("Queues and drops over time", cells, len(report.runs), wide, narrow)


def _over_time(run: Run, what: str, name: str, axis: Axes) -> None:
    samples = dict(run.measured)[name].queues
    times = [sample.seconds for sample in samples]
    if what == "waiting":
        waiting = [sample.waiting for sample in samples]
        axis.fill_between(times, 0, waiting, step="post", color=_KINDS[name], linewidth=0)
        title = f"most {max(waiting, default=0)} packets in a queue"
        axis.set_ylim(0, 210)  # the queues of Fig. 5 hold 200
    else:
        counts = {"full": [sample.full for sample in samples], "lost": [sample.lost for sample in samples]}
        colours = [_COLOURS[kind] for kind in counts]
        axis.stackplot(times, *counts.values(), colors=colours, linewidth=0)
        ends = {kind: count[-1] if count else 0 for kind, count in counts.items()}
        title = f"{ends['full']:,} refused, {ends['lost']:,} lost"
        axis.set_ylim(bottom=0, top=None if sum(ends.values()) else 1)
        axis.locator_params(axis="y", nbins=3, integer=True)
    axis.set_title(f"{name}, {run.name}: {title if samples else 'not measured'}")
    axis.set_xlim(0, times[-1] if times else 1)
    axis.margins(x=0)
    axis.grid(visible=True)
