"""The report's charts: progress over time, and bars that compare with the baseline."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from experiments.demo import svg
from experiments.demo.results import ReceiverResult, Sample

_WIDTH = 1120.0
_MIB = 1 << 20


@dataclass(frozen=True)
class Bar:
    label: str
    value: float
    caption: str
    kind: str
    """CSS class: `ours`, `tcp` or `ideal`"""


@dataclass(frozen=True)
class BarGroup:
    label: str
    bars: tuple[Bar, ...]


def progress(receivers: Sequence[ReceiverResult], file_bytes: int, ideal_seconds: float) -> str:
    """A chart of bytes in each receiver's file over the time since the sender's first packet."""
    left, right, top, bottom, height = 62.0, 150.0, 16.0, 46.0, 380.0
    last = max(
        [r.seconds or 0.0 for r in receivers] + [s.seconds for r in receivers for s in r.series] + [0.1]
    )
    x_max, y_max = max(last, ideal_seconds) * 1.03, file_bytes * 1.04

    def x(seconds: float) -> float:
        return left + (_WIDTH - left - right) * seconds / x_max

    def y(count: float) -> float:
        return height - bottom - (height - bottom - top) * count / y_max

    parts: list[str] = []
    for value in svg.ticks(y_max / _MIB):
        at = y(value * _MIB)
        parts.append(svg.element("line", x1=left, x2=_WIDTH - right, y1=at, y2=at, class_="grid"))
        parts.append(svg.text(left - 8, at + 4, f"{value:g}", "axis", "end"))
    for value in svg.ticks(x_max, 8):
        parts.append(svg.text(x(value), height - bottom + 20, f"{value:g}", "axis", "middle"))
    axis = height - bottom
    parts.append(svg.element("line", x1=left, x2=_WIDTH - right, y1=axis, y2=axis, class_="base"))
    parts.append(svg.text(x(0), top - 4, "MiB received", "axis"))
    parts.append(svg.text(_WIDTH - right, height - 8, "seconds since the first packet", "axis", "end"))
    ideal = f"M{x(0):.1f} {y(0):.1f}L{x(ideal_seconds):.1f} {y(file_bytes):.1f}"
    parts.append(svg.element("path", d=ideal, class_="ideal-line"))
    parts += [_curve(receiver, file_bytes, x, y) for receiver in receivers]
    return svg.picture(_WIDTH, height, "".join(parts) + _legend(receivers, _WIDTH - right + 22), "Progress")


def _curve(
    receiver: ReceiverResult, file_bytes: int, x: Callable[[float], float], y: Callable[[float], float]
) -> str:
    samples = [Sample(0.0, 0), *receiver.series]
    if receiver.ok and receiver.seconds is not None:
        samples = [s for s in samples if s.seconds < receiver.seconds] + [
            Sample(receiver.seconds, file_bytes)
        ]
    points = " ".join(f"{x(s.seconds):.1f},{y(s.bytes):.1f}" for s in samples)
    when = f"complete after {receiver.seconds:.2f} s" if receiver.seconds is not None else "not complete"
    title = svg.element("title", f"{receiver.name}: {when}")
    return svg.element("polyline", title, points=points, class_=f"curve net-{receiver.name[1]}")


def _legend(receivers: Sequence[ReceiverResult], x: float) -> str:
    networks: dict[str, int] = {}
    for receiver in receivers:
        networks[receiver.name[1]] = networks.get(receiver.name[1], 0) + 1
    parts: list[str] = []
    at = 40.0
    for letter, count in networks.items():
        parts.append(svg.element("line", x1=x, x2=x + 22, y1=at - 4, y2=at - 4, class_=f"curve net-{letter}"))
        parts.append(svg.text(x + 30, at, f"network {letter} ({count})", "label"))
        at += 24
    parts.append(svg.element("line", x1=x, x2=x + 22, y1=at - 4, y2=at - 4, class_="ideal-line"))
    parts.append(svg.text(x + 30, at, "link rate", "label"))
    return "".join(parts)


def bars(groups: Sequence[BarGroup], title: str) -> str:
    """Horizontal bars from zero, each with its figure at the end."""
    left, right, thick, gap = 190.0, 190.0, 18.0, 16.0
    top = max((bar.value for group in groups for bar in group.bars), default=1.0) or 1.0
    scale = (_WIDTH - left - right) / top
    parts: list[str] = []
    y = 4.0
    for group in groups:
        middle = y + len(group.bars) * (thick + 3) / 2
        parts.append(svg.text(left - 14, middle + 3, group.label, "label", "end"))
        for bar in group.bars:
            width = max(bar.value * scale, 1.5)
            tip = svg.element("title", f"{group.label}, {bar.label}: {bar.caption}")
            parts.append(
                svg.element(
                    "rect", tip, x=left, y=y, width=width, height=thick, rx=2, class_=f"bar {bar.kind}"
                )
            )
            parts.append(svg.text(left + width + 8, y + thick - 5, bar.caption, "figure"))
            y += thick + 3
        y += gap
    base = svg.element("line", x1=left, x2=left, y1=0, y2=y - gap + 4, class_="base")
    return svg.picture(_WIDTH, y - gap + 8, "".join(parts) + base, title)
