"""All of the paper's figures with CUBIC in place of its TCP. netsim's TCP has no pacing, and so no BBR.

The rule: a claim of the paper holds with CUBIC if it does by the bounds that the paper's TCP is judged by.
"""

from dataclasses import replace

from groupflow.study.claims import Claim
from papers.icn2011 import claims
from papers.icn2011.figures import FIGURES
from papers.icn2011.outcome import SIMULATION, Points, runs
from papers.icn2011.paper import METHODS, Case, usual_loads

NAME = "cubic"


def _cases(quick: bool) -> list[Case]:
    loads = usual_loads(quick)
    of_figures = (case for figure in FIGURES for case in figure.cases(loads))
    return [replace(case, tcp="cubic") for case in dict.fromkeys(of_figures) if case.method in METHODS]


def _of(figure_cases: frozenset[Case], points: Points) -> Points:
    """A figure's points under the paper's cases, which its claims look for."""
    found = ((replace(case, tcp="sack"), point) for case, point in points.items())
    return {case: point for case, point in found if case in figure_cases}


def _judge(points: Points) -> list[Claim]:
    """The paper's claims on each figure, on runs with CUBIC."""
    loads = tuple(sorted({case.load for case in points}))
    return [
        replace(claim, id=f"study-{NAME}-{claim.id}", figure=f"study {NAME}, {claim.figure}", kind="finding")
        for figure in FIGURES
        for claim in claims.evaluate(figure.number, _of(frozenset(figure.cases(loads)), points))
    ]


STUDY = SIMULATION.beyond(NAME, "the paper's figures with CUBIC", runs(_cases), _judge)
