"""Both measurements of one run, quantity by quantity."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from experiments.common.beside import Comparison
from experiments.diffusion.result import METHODS, Plan, Result
from groupflow.study.drawing import bar, save, subplots


def compare(plan: Plan, results: Sequence[Result]) -> list[Comparison]:
    """All quantities of the runs that exist both on the real network and in netsim."""
    simulated = {(r.control, r.method): r for r in results if r.where == "netsim"}
    return [
        Comparison(
            f"{run.where}, {run.control}, {METHODS[run.method]}",
            {"where": run.where, "control": run.control, "method": run.method},
            *(quantity, unit, here, there),
        )
        for run in results
        if run.where != "netsim" and (other := simulated.get((run.control, run.method)))
        for (quantity, unit, here), (_, _, there) in zip(
            _quantities(plan, run), _quantities(plan, other), strict=True
        )
    ]


def _quantities(plan: Plan, result: Result) -> Iterator[tuple[str, str, float]]:
    """Name, unit and value; the same names in the same order for every run."""
    yield "goodput of all flows", "Mb/s", result.total_goodput_bps / 1e6
    for flow in plan.flows:
        yield f"goodput of {flow.name}", "Mb/s", result.goodput_bps[flow.name] / 1e6
    yield "slower flow", "of the faster", result.fairness
    waiting = result.mean_queues(plan.settled_s)
    yield "waiting in all switches", "packets", float(waiting.sum())
    for number, packets in enumerate(waiting, 1):
        yield f"waiting in s{number}", "packets", float(packets)
    yield "dropped", "packets", result.dropped


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
                axis.legend()
    save(figure, path)
