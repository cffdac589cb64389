"""Two readings of the cache ratio Cmax/Dmax, whose Dmax is the "transmitted data size of all senders" (IV.B).

The rule: a reading explains Fig. 12 if all of the paper's claims about it hold. Cmax is that of SA1 in both;
Dmax is what all senders transmitted, or what those beside SA1 did, whose packets are the first it caches.
"""

from collections.abc import Iterator
from dataclasses import replace

from groupflow.study.claims import Claim, finding, restated
from papers.icn2011 import claims, figures
from papers.icn2011.outcome import SIMULATION, Point, Points, runs
from papers.icn2011.paper import usual_loads

NAME = "cache-ratio"
FIG12 = next(figure for figure in figures.FIGURES if figure.number == 12)
READINGS = {"all": "all four senders", "own": "the two senders beside SA1"}


def _read(reading: str, points: Points) -> Points:
    """The points, whose cache ratio is the reading's."""
    return points if reading == "all" else {case: _own(point) for case, point in points.items()}


def _own(point: Point) -> Point:
    own = (replace(each, cache_ratio=each.own_cache_ratio) for each in (point.mean, point.spread))
    return Point(*own)


def _judge(points: Points) -> Iterator[Claim]:
    for reading, said in READINGS.items():
        judged = claims.evaluate(FIG12.number, _read(reading, points))
        yield from [restated(claim, NAME, reading, said=f"Dmax of {said}") for claim in judged]
        held = sum(claim.holds for claim in judged)
        yield finding(
            NAME, f"{reading}-explains", f"Dmax of {said} explains Fig. 12", held,
            f"of {len(judged)} claims", held == len(judged), "all of them",
        )  # fmt: skip


STUDY = SIMULATION.beyond(
    NAME,
    "two readings of the cache ratio's divisor",
    runs(lambda quick: FIG12.cases(usual_loads(quick))),
    _judge,
)
