"""The flowcharts of hub and rim, drawn from the machines' own tables."""

# matplotlib does not type its keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from experiments.common.drawing import COLOURS, PALE, save
from groupflow._native import bone_steps

HUB: Mapping[str, tuple[str, float, float]] = {
    "Idle": ("wait for a file", 0.0, 0.0),
    "Joining": ("multicast IPM_SEND,\ngather JOIN_MESSAGEs", 0.0, -1.0),
    "Describing": ("send control parameters", 0.0, -2.0),
    "Announcing": ("announce packet size", 0.0, -3.0),
    "Sending": ("send the round's packets;\nthe file's last is numbered 0", 0.0, -4.0),
    "Gathering": ("gather reception results", 0.0, -5.0),
    "Sizing": ("go back; next packet size", -1.7, -4.6),
    "Asking": ("ask those that are silent", 1.6, -3.5),
}
RIM: Mapping[str, tuple[str, float, float]] = {
    "Waiting": ("wait for IPM_SEND", 0.0, 0.0),
    "Joining": ("wait for its turn,\nthen JOIN_MESSAGE", 0.0, -1.1),
    "Joined": ("wait for control parameters", -1.6, -1.8),
    "Receiving": ("receive a round", 0.0, -2.8),
    "Reporting": ("report the reception result", -1.6, -4.0),
    "Complete": ("the whole file is there", 1.6, -4.0),
}
Steps = Sequence[tuple[str, str, str]]


def draw(hub: Path, rim: Path) -> None:
    """Both, each into its file."""
    steps = bone_steps()
    _chart(hub, "Hub", HUB, steps[0])
    _chart(rim, "Rim", RIM, steps[1])


def _chart(path: Path, title: str, places: Mapping[str, tuple[str, float, float]], steps: Steps) -> None:
    drawing, axis = plt.subplots(figsize=(11.5, 8.0), layout="constrained")
    merged: dict[tuple[str, str], list[str]] = {}
    for start, when, to in steps:
        merged.setdefault((start, to), []).append(when or "always")
    legend: list[str] = []
    for number, ((start, to), when) in enumerate(merged.items(), 1):
        _arrow(axis, places[start][1:], places[to][1:], number)
        legend.append(f"{number:2}  {'; or '.join(when)}")
    for says, x, y in places.values():
        style = {"boxstyle": "round,pad=0.5", "facecolor": PALE, "edgecolor": COLOURS[0]}
        axis.text(x, y, says, ha="center", va="center", fontsize=9, bbox=style, zorder=3)
    lowest = min(y for _, _, y in places.values())
    axis.text(2.5, 0.3, "\n".join(legend), fontsize=8, va="top", linespacing=1.6)
    axis.set(xlim=(-2.5, 5.2), ylim=(lowest - 0.4, 0.4), title=title)
    axis.axis("off")
    save(drawing, path)


def _arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float], number: int) -> None:
    """An arc with the step's number near its beginning, where few arcs meet."""
    colour = COLOURS[number % len(COLOURS)]
    style = {"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": colour}
    text: dict[str, Any] = {
        "fontsize": 8,
        "color": colour,
        "ha": "center",
        "va": "center",
        "bbox": style,
        "zorder": 4,
    }
    if start == end:
        axis.text(start[0] + 0.9, start[1], f"\u21bb {number}", **text)
        return
    (x0, y0), (x1, y1) = start, end
    # Steps that go back, or pass a state, bend further.
    bend = 0.0 if abs(y1 - y0) <= 1.2 and abs(x1 - x0) < 0.1 and y1 < y0 else 0.4
    arrow = {"arrowstyle": "-|>", "color": colour, "shrinkA": 16, "shrinkB": 16}
    arrow |= {"connectionstyle": f"arc3,rad={bend}"}
    axis.annotate("", xy=end, xytext=start, arrowprops=arrow)
    # arc3 is a quadratic Bezier curve; this far along it.
    t, corner_x, corner_y = 0.35, (x0 + x1) / 2 + bend * (y1 - y0), (y0 + y1) / 2 - bend * (x1 - x0)
    x = (1 - t) ** 2 * x0 + 2 * t * (1 - t) * corner_x + t**2 * x1
    y = (1 - t) ** 2 * y0 + 2 * t * (1 - t) * corner_y + t**2 * y1
    axis.text(x, y, f"{number}", **text)
