"""From points to claims: the part that claims of all figures share.

A claim is judged on the means over the seeds, as in the paper's figures. A claim about the load holds
if it does at every load; its note lists the loads at which it does.
"""

from collections.abc import Callable, Mapping

from groupflow.study.claims import Claim
from papers.icn2011.outcome import Indices, Points
from papers.icn2011.paper import Case, Method

ByLoad = Mapping[float, float]
"""a value at each load, the lowest first"""


class Measured:
    """Points of a figure, by the parameters that the figure varies."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.loads = sorted({case.load for case in points})

    @property
    def lowest(self) -> float:
        return self.loads[0]

    @property
    def highest(self) -> float:
        return self.loads[-1]

    def at(self, method: Method, load: float, **which: int) -> Indices:
        """The means at a point; `senders`, `members`, `delay_ms` as in `Case`."""
        if which.get("senders") == 4:
            which["members"] = 1
        return self.points[Case(method, load, **which)].mean  # type: ignore[arg-type]

    def over(self, value: Callable[[float], float]) -> ByLoad:
        """A value at each load."""
        return {load: value(load) for load in self.loads}


def at_every_load(
    id: str,
    figure: str,
    claim: str,
    paper: str | float,
    values: ByLoad,
    unit: str,
    *,
    least: float | None = None,
    most: float | None = None,
) -> Claim:
    """A claim that holds if no value is below `least`, or above `most`. The worst value is measured."""
    if least is not None:
        worst, word, bound = min(values.values()), "least", least
        good = [load for load, value in values.items() if value >= least]
    elif most is not None:
        worst, word, bound = max(values.values()), "most", most
        good = [load for load, value in values.items() if value <= most]
    else:
        raise TypeError(f"{id}: give least or most")
    holds = len(good) == len(values)
    where = "every load" if holds else f"load {', '.join(f'{x:g}' for x in good)}" if good else "no load"
    note = f"the {word} over the loads; at {word} {bound:g} at {where}"
    return Claim(id, figure, claim, paper, worst, unit, holds, note)
