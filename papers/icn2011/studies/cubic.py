"""All of the paper's figures with CUBIC in place of its TCP. netsim's TCP has no pacing, and so no BBR."""

# matplotlib does not type its keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from matplotlib import pyplot as plt

from experiments.common.claims import Claim
from experiments.common.drawing import save
from papers.icn2011 import claims, plan
from papers.icn2011.figures import FIGURES, panel
from papers.icn2011.outcome import Points
from papers.icn2011.paper import Case
from papers.icn2011.studies.study import Study

NAME = "cubic"


def _cases(quick: bool) -> list[Case]:
    loads = plan.loads(quick=quick)
    of_figures = (case for figure in FIGURES for case in figure.cases(loads))
    return [replace(case, tcp="cubic") for case in dict.fromkeys(of_figures)]


def _of(figure_cases: frozenset[Case], points: Points) -> Points:
    """A figure's points, under the cases that it and its claims ask for."""
    found = ((replace(case, tcp="sack"), point) for case, point in points.items())
    return {case: point for case, point in found if case in figure_cases}


def _judge(points: Points) -> list[Claim]:
    """What the paper says of each figure."""
    loads = tuple(sorted({case.load for case in points}))
    return [
        replace(claim, id=f"study-{NAME}-{claim.id}", figure=f"study {NAME}, {claim.figure}")
        for figure in FIGURES
        for claim in claims.evaluate(figure.number, _of(frozenset(figure.cases(loads)), points))
    ]


def _draw(path: Path, points: Points) -> None:
    loads = tuple(sorted({case.load for case in points}))
    drawing, axes = plt.subplots(2, 4, figsize=(20, 7.6), layout="constrained")
    for axis, figure in zip(axes.flat, FIGURES, strict=False):
        panel(axis, figure, _of(frozenset(figure.cases(loads)), points))
    axes.flat[-1].set_axis_off()
    drawing.suptitle("The paper's figures with CUBIC")
    save(drawing, path)


STUDY = Study(NAME, "the paper's figures with CUBIC", _cases, _judge, _draw)
