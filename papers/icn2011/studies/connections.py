"""A connection a message instead of one that stays: for Fig. 7's zero and for End-End's independence of the
delay. Fig. 12 is judged, too.

The rule: by the paper's own claims, it explains unicast's zero if both claims on that hold, End-End's
independence of the delay if its claims at 100 ms hold, and Fig. 12 if its claims hold. Two seeds and three
loads, as there are up to 3,600 connections.
"""

from collections.abc import Iterator
from dataclasses import replace

from groupflow.study.claims import Claim, restated
from papers.icn2011 import claims
from papers.icn2011.figures import FIGURES
from papers.icn2011.outcome import SIMULATION, Points
from papers.icn2011.paper import METHODS, QUICK_LOADS, QUICK_SECONDS, QUICK_SEEDS, SECONDS, Run

NAME = "connections"
JUDGED = [figure for figure in FIGURES if figure.number in (7, 12)]


def _runs(quick: bool, seed: int) -> list[Run]:
    seconds = QUICK_SECONDS if quick else SECONDS
    cases = dict.fromkeys(case for figure in JUDGED for case in figure.cases(QUICK_LOADS))
    return [
        Run(replace(case, each_message=True), number, seconds)
        for case in cases
        if case.method in METHODS
        for number in range(seed, seed + QUICK_SEEDS)
    ]


def _judge(points: Points) -> Iterator[Claim]:
    usual = {replace(case, each_message=False): point for case, point in points.items()}
    for figure in JUDGED:
        cases = frozenset(figure.cases(QUICK_LOADS))
        found = {case: point for case, point in usual.items() if case in cases}
        yield from (restated(claim, NAME) for claim in claims.evaluate(figure.number, found))


STUDY = SIMULATION.beyond(NAME, "a connection a message", _runs, _judge)
