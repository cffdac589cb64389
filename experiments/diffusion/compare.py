"""The distance between netsim and the real network: both measurements of one run, quantity by quantity."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from experiments.common.nearness import Nearness
from experiments.diffusion.result import Method, Plan, Result


@dataclass(frozen=True)
class Comparison(Nearness):
    """One quantity of one run, on the real network and in netsim."""

    where: str
    """the real network's switches"""
    control: str
    """congestion control"""
    method: Method
    quantity: str
    unit: str
    kernel: float
    netsim: float


def compare(plan: Plan, results: Sequence[Result]) -> list[Comparison]:
    """All quantities of the runs that exist both on the real network and in netsim."""
    simulated = {(r.control, r.method): r for r in results if r.where == "netsim"}
    return [
        Comparison(run.where, run.control, run.method, quantity, unit, here, there)
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
