"""A connection a message instead of one that stays, for Fig. 7's zero and for End-End's independence of the
delay.

The rule: the paper's own claims about Fig. 7 are judged as there. The assumption explains unicast's zero if
both claims on it hold, and End-End's independence of the delay if its claims at 100 ms hold; both, if all
that hold for connections that stay hold, too. Two seeds and three loads,
as there are up to 3,600 connections.
"""

from dataclasses import replace
from pathlib import Path

from groupflow.study.claims import BEYOND, Claim
from groupflow.study.drawing import save, subplots
from papers.icn2011 import claims, figures
from papers.icn2011.outcome import Points
from papers.icn2011.paper import DELAYS_MS, METHODS, QUICK_LOADS, QUICK_SECONDS, QUICK_SEEDS, SECONDS, Case
from papers.icn2011.plan import Run
from papers.icn2011.simulation import SIMULATION

NAME = "connections"
FIG7 = next(figure for figure in figures.FIGURES if figure.number == 7)


def _runs(quick: bool, seed: int) -> list[Run]:
    cases = [
        Case(method, load, delay_ms=delay, each_message=True)
        for method in METHODS
        for load in QUICK_LOADS
        for delay in DELAYS_MS
    ]
    seconds = QUICK_SECONDS if quick else SECONDS
    return [Run(case, number, seconds) for case in cases for number in range(seed, seed + QUICK_SEEDS)]


def _as_the_papers(points: Points) -> Points:
    """The points under the cases that the figure and its claims look for."""
    return {replace(case, each_message=False): point for case, point in points.items()}


def _judge(points: Points) -> list[Claim]:
    """The paper's claims on Fig. 7."""
    return [
        replace(claim, id=f"study-{NAME}-{claim.id}", figure=f"study {NAME}", paper=BEYOND, kind="finding")
        for claim in claims.evaluate(FIG7.number, _as_the_papers(points))
    ]


def _draw(path: Path, points: Points) -> None:
    figure, axis = subplots(figsize=(5.6, 4.0))
    figures.panel(axis, FIG7, _as_the_papers(points))
    axis.set_title("Fig. 7 with a connection a message", fontsize="medium")
    save(figure, path)


STUDY = SIMULATION.beyond(NAME, "a connection a message", _runs, _judge, _draw)
