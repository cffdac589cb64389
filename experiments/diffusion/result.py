"""One run of the chain, on kernel TCP or in netsim: the same figures from both, compared and drawn."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.common.beside import Comparison
from groupflow.study.drawing import bar, save, subplots

Series = NDArray[np.float64]
Method: TypeAlias = Literal["tcp", "dfc", "shaped"]
"""TCP alone; with control; with control and hosts that shape to eq. 9's rate"""
FRAME_BYTES = 1514
METHODS: Mapping[Method, str] = {"tcp": "-", "dfc": "DFC", "shaped": "DFC, hosts shape"}


@dataclass(frozen=True)
class Flow:
    """A greedy TCP flow between two hosts of a topology."""

    name: str
    sender: str
    receiver: str
    port: int
    start_s: float = 0.0


@dataclass(frozen=True)
class Plan:
    """Parameters that all runs share."""

    flows: tuple[Flow, ...]
    seconds: float
    settled_s: float
    """time from which on both flows are there and means are taken"""
    window_packets: int
    """the largest TCP window"""
    diffusion: str = "0.1"
    """D of eq. 3"""
    sample_s: float = 0.05


@dataclass(frozen=True)
class Result:
    """Measurements of a run. Time 0 is the start of the first flow."""

    where: str
    """`gfswitch`, with kernel TCP, or `netsim`"""
    control: str
    """congestion control"""
    method: Method
    time_s: Series
    queues: NDArray[np.float64]
    """packets stored in the data's direction, by time and switch"""
    goodput_bps: dict[str, float]
    """goodput of each flow, while both are there"""
    drops: dict[str, int]
    """packets that a full queue refused, by switch"""
    retransmitted: dict[str, int]
    cpu_bound: tuple[str, ...] = ()
    """switches that lagged behind, each with its own figures"""

    @property
    def dropped(self) -> int:
        return sum(self.drops.values())

    @property
    def total_goodput_bps(self) -> float:
        return sum(self.goodput_bps.values())

    @property
    def fairness(self) -> float:
        """The slower flow's goodput, of the faster's."""
        return min(self.goodput_bps.values()) / max(self.goodput_bps.values())

    def mean_queues(self, settled_s: float) -> Series:
        """Mean packets stored in each switch while both flows are there."""
        means: Series = self.queues[self.time_s >= settled_s].mean(axis=0)
        return means


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


PLACES = ("gfswitch", "netsim")


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
