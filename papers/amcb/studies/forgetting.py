"""Rims that forget packets when the hub goes back, or remember them: which fits the paper's table better?

The rule: they fit better if the mean factor between the figures and the paper's is less by a twentieth.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from groupflow.sim.bone import Method
from groupflow.study.claims import Claim, finding
from papers.amcb.claims import MORE
from papers.amcb.outcome import SIMULATION, Outcome, Outcomes, again, latency, runs
from papers.amcb.paper import METHODS, QUICK_SIZES, SIZES, TABLE, Case, Cell

NAME = "forgetting"

Quantity = tuple[str, Callable[[Sequence[Outcome]], float], Callable[[Cell], float]]
QUANTITIES: tuple[Quantity, ...] = (
    ("latency", latency, lambda cell: cell.latency_s),
    ("again", again, lambda cell: cell.again_percent),
)


def _cases(quick: bool) -> list[Case]:
    sizes = QUICK_SIZES if quick else SIZES
    return [
        Case(size, method, forgets=forgets)
        for size in sizes
        for method in METHODS
        for forgets in (False, True)
    ]


def _judge(found: Outcomes) -> Iterator[Claim]:
    sizes = sorted({case.size for case in found})
    for quantity in QUANTITIES:
        for method in METHODS:
            remembers, forgets = (_off(found, sizes, method, quantity, flag) for flag in (False, True))
            said = f"{method}: {quantity[0]} fits better with rims that forget"
            yield finding(NAME, f"{quantity[0]}-{method}", said,
                          forgets, "mean factor off the paper's", forgets * MORE <= remembers,
                          f"{remembers:.2f} with rims that remember; {len(sizes)} sizes")  # fmt: skip


def _off(found: Outcomes, sizes: Sequence[int], method: Method, quantity: Quantity, forgets: bool) -> float:
    """Factor, at least 1, between the figures and the paper's, as the geometric mean over the sizes."""
    _, measured, paper = quantity
    logs = [
        abs(math.log(measured(found[Case(size, method, forgets=forgets)]) / paper(TABLE[size][method])))
        for size in sizes
    ]
    return math.exp(fmean(logs))


STUDY = SIMULATION.beyond(NAME, "rims that forget packets when the hub goes back", runs(_cases), _judge)
