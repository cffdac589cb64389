"""Senders whose TCP is held back by its link, as an agent's is, instead of overflowing an output buffer.

All of Fig. 7, with both of its claims, under the other reading of Table I's "output buffer".
"""

from dataclasses import replace
from pathlib import Path

from groupflow.study.claims import BEYOND, Claim
from groupflow.study.drawing import save, subplots
from papers.icn2011 import claims, figures
from papers.icn2011.outcome import Points
from papers.icn2011.paper import DELAYS_MS, METHODS, Case
from papers.icn2011.plan import high_loads
from papers.icn2011.simulation import SIMULATION, runs

NAME = "sender-buffer"
FIG7 = next(figure for figure in figures.FIGURES if figure.number == 7)


def _cases(quick: bool) -> list[Case]:
    return [
        Case(method, load, delay_ms=delay, sender_buffer=False)
        for method in METHODS
        for load in high_loads(quick)
        for delay in DELAYS_MS
    ]


def _as_the_papers(points: Points) -> Points:
    """The points under the cases that the figure and its claims look for."""
    return {replace(case, sender_buffer=True): point for case, point in points.items()}


def _judge(points: Points) -> list[Claim]:
    """The paper's claims on Fig. 7."""
    return [
        replace(claim, id=f"study-{NAME}-{claim.id}", figure=f"study {NAME}", paper=BEYOND, kind="finding")
        for claim in claims.evaluate(FIG7.number, _as_the_papers(points))
    ]


def _draw(path: Path, points: Points) -> None:
    figure, axis = subplots(figsize=(5.6, 4.0))
    figures.panel(axis, FIG7, _as_the_papers(points))
    axis.set_title("Fig. 7 with senders held back by their links", fontsize="medium")
    save(figure, path)


STUDY = SIMULATION.beyond(NAME, "senders that are held back by their link", runs(_cases), _judge, _draw)
