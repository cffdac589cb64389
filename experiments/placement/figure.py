"""Draws the study: three panels of cost against agents, one of the method against the best placement."""

from collections.abc import Sequence
from pathlib import Path

from experiments.placement.study import Curve, Ratios
from groupflow.study.drawing import COLOURS, Axes, marked, save, subplots

LOOKS = {"bytes": 0, "time": 3}
LABELS = {"bytes": "link bytes", "time": "completion time"}


def draw(path: Path, curves: Sequence[Curve], ratios: Sequence[Ratios]) -> None:
    figure, axes = subplots(2, 2, figsize=(10, 7))
    names = list(dict.fromkeys(curve.network for curve in curves))
    for axis, name in zip(axes.flat, names, strict=False):
        _curves(axis, name, [curve for curve in curves if curve.network == name])
    if ratios:
        _ratios(axes.flat[3], ratios)
    save(figure, path)


def _curves(axis: Axes, name: str, curves: Sequence[Curve]) -> None:
    for curve in curves:
        agents = range(len(curve.mean))
        axis.plot(agents, curve.mean, label=LABELS[curve.objective], **marked(LOOKS[curve.objective]))
        if curve.draws > 1:
            axis.fill_between(
                agents, curve.low, curve.high, color=COLOURS[LOOKS[curve.objective]], alpha=0.15
            )
    axis.set(title=name, xlabel="agents at most", ylabel="cost / cost of unicast", ylim=(0, 1.05))
    axis.legend()


def _ratios(axis: Axes, all_ratios: Sequence[Ratios]) -> None:
    for ratios in all_ratios:
        count = len(ratios.ratios)
        axis.plot(
            [1, *ratios.ratios],
            [0, *((number + 1) / count for number in range(count))],
            "--" if "several" in ratios.kind else "-",
            linewidth=2.5 if "trees" in ratios.kind else 1,
            drawstyle="steps-post",
            color=COLOURS[LOOKS[ratios.objective]],
            label=f"{LABELS[ratios.objective]}, {ratios.kind}",
        )
    axis.set(
        title="small random networks, against trying all",
        xlabel="cost / least cost",
        ylabel="part of the networks",
        ylim=(0.8, 1.005),
    )
    axis.legend(loc="lower right")
