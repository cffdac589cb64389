"""Fig. 7 under other assumptions, judged by the paper's own claims on it.

"connections": a connection a message instead of one that stays, for Fig. 7's zero and for End-End's
independence of the delay; Fig. 12 is judged, too. The rule: the assumption explains unicast's zero if both
claims on it hold, End-End's independence of the delay if its claims at 100 ms hold, and Fig. 12 if its claims
hold. Two seeds and three loads, as there are up to 3,600 connections.

"sender-buffer": senders whose TCP is held back by its link, as an agent's is, instead of overflowing an
output buffer: the other reading of Table I's "output buffer". The rule is the same.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from groupflow.study.claims import Claim, restated
from groupflow.study.experiment import Study
from papers.icn2011 import claims
from papers.icn2011.figures import FIGURES
from papers.icn2011.outcome import SIMULATION, Outcome, Points, runs
from papers.icn2011.paper import (
    DELAYS_MS,
    METHODS,
    QUICK_LOADS,
    QUICK_SECONDS,
    QUICK_SEEDS,
    SECONDS,
    SPLIT,
    Case,
    Run,
    high_loads,
)


def _cases(loads: tuple[float, ...], **assumption: Any) -> list[Case]:
    return [
        Case(method, load, delay_ms=delay, **assumption)
        for method in METHODS
        for load in loads
        for delay in DELAYS_MS
    ]


def _connections(quick: bool, seed: int) -> list[Run]:
    seconds = QUICK_SECONDS if quick else SECONDS
    caches = FIGURES[-1].cases(QUICK_LOADS)
    cases = _cases(QUICK_LOADS, each_message=True)
    cases += [replace(case, each_message=True) for case in caches if case.method in SPLIT]
    return [Run(case, number, seconds) for case in cases for number in range(seed, seed + QUICK_SEEDS)]


def _study(
    name: str,
    about: str,
    figures: tuple[int, ...],
    runs: Callable[[bool, int], list[Run]],
    usual: Callable[[Case], Case],
) -> Study[Run, Outcome, Points]:
    """`usual` turns a case of the study into the paper's, which its claims look for."""

    def as_the_papers(points: Points) -> Points:
        return {usual(case): point for case, point in points.items()}

    def judge(points: Points) -> list[Claim]:
        return [
            restated(claim, name)
            for each in figures
            for claim in claims.evaluate(each, as_the_papers(points))
        ]

    return SIMULATION.beyond(name, about, runs, judge)


CONNECTIONS = _study(
    "connections",
    "a connection a message",
    (7, 12),
    _connections,
    lambda case: replace(case, each_message=False),
)
SENDER_BUFFER = _study(
    "sender-buffer",
    "senders that are held back by their link",
    (7,),
    runs(lambda quick: _cases(high_loads(quick), sender_buffer=False)),
    lambda case: replace(case, sender_buffer=True),
)
