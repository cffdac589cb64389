"""Fig. 7 under other assumptions, judged by the paper's own claims on it.

"connections": a connection a message instead of one that stays, for Fig. 7's zero and for End-End's
independence of the delay. The rule: the assumption explains unicast's zero if both claims on it hold, and
End-End's independence of the delay if its claims at 100 ms hold; both, if all that hold for connections that
stay hold, too. Two seeds and three loads, as there are up to 3,600 connections.

"sender-buffer": senders whose TCP is held back by its link, as an agent's is, instead of overflowing an
output buffer: the other reading of Table I's "output buffer". The rule is the same.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from groupflow.study.claims import Claim, restated
from groupflow.study.experiment import Study
from papers.icn2011 import claims
from papers.icn2011.outcome import SIMULATION, Outcome, Points, runs
from papers.icn2011.paper import (
    DELAYS_MS,
    METHODS,
    QUICK_LOADS,
    QUICK_SECONDS,
    QUICK_SEEDS,
    SECONDS,
    Case,
    Run,
    high_loads,
)

FIGURE = 7


def _cases(loads: tuple[float, ...], **assumption: Any) -> list[Case]:
    return [
        Case(method, load, delay_ms=delay, **assumption)
        for method in METHODS
        for load in loads
        for delay in DELAYS_MS
    ]


def _connections(quick: bool, seed: int) -> list[Run]:
    seconds = QUICK_SECONDS if quick else SECONDS
    cases = _cases(QUICK_LOADS, each_message=True)
    return [Run(case, number, seconds) for case in cases for number in range(seed, seed + QUICK_SEEDS)]


def _study(
    name: str, about: str, runs: Callable[[bool, int], list[Run]], usual: Callable[[Case], Case]
) -> Study[Run, Outcome, Points]:
    """`usual` turns a case of the study into the paper's, which the figure and its claims look for."""

    def as_the_papers(points: Points) -> Points:
        return {usual(case): point for case, point in points.items()}

    def judge(points: Points) -> list[Claim]:
        return [restated(claim, name) for claim in claims.evaluate(FIGURE, as_the_papers(points))]

    return SIMULATION.beyond(name, about, runs, judge)


CONNECTIONS = _study(
    "connections", "a connection a message", _connections, lambda case: replace(case, each_message=False)
)
SENDER_BUFFER = _study(
    "sender-buffer",
    "senders that are held back by their link",
    runs(lambda quick: _cases(high_loads(quick), sender_buffer=False)),
    lambda case: replace(case, sender_buffer=True),
)
