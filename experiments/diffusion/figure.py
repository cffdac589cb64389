"""Packets waiting in the chain, without and with the control, on the real network and in netsim."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.diffusion.result import METHODS, Plan, Result
from groupflow.study.drawing import bar, save, subplots

PLACES = ("gfswitch", "netsim", "bmv2")


def draw(path: Path, plan: Plan, switches: Sequence[str], results: Sequence[Result]) -> None:
    controls = list(dict.fromkeys(result.control for result in results))
    size = (13, 2.8 * len(controls))
    figure, grid = subplots(len(controls), len(METHODS), figsize=size, sharey=True, squeeze=False)
    for row, control in zip(grid, controls, strict=True):
        for axis, (method, name) in zip(row, METHODS.items(), strict=True):
            shown = [r for r in results if r.control == control and r.method == method]
            width = 0.76 / max(len(shown), 1)
            for place, result in enumerate(shown):
                offset = (place - (len(shown) - 1) / 2) * width
                means = result.mean_queues(plan.settled_s)
                label = f"{result.where}: {result.dropped} dropped"
                axis.bar(
                    np.arange(len(means)) + offset,
                    means,
                    width * 0.95,
                    label=label,
                    **bar(PLACES.index(result.where)),
                )
            axis.set_xticks(range(len(switches)), switches)
            axis.set(
                title=f"{control}, {name if method != 'tcp' else 'without DFC'}",
                ylabel="packets waiting, mean",
            )
            if shown:
                axis.legend(fontsize="small")
    save(figure, path)
