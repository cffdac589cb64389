"""The paper for the command: its figures 6 to 12 and studies beyond them."""

from functools import partial

from groupflow.study.paper import Paper, Study
from papers.icn2011 import claims, figures, findings
from papers.icn2011.figures import Figure
from papers.icn2011.outcome import Outcome, Points
from papers.icn2011.plan import Run, loads
from papers.icn2011.simulation import SIMULATION, runs
from papers.icn2011.studies import STUDIES


def _study(figure: Figure) -> Study[Run, Outcome, Points]:
    return Study(
        f"figure-{figure.number}",
        figure.title,
        SIMULATION,
        runs(lambda quick: figure.cases(loads(quick=quick))),
        lambda points: [*claims.evaluate(figure.number, points), *findings.evaluate(figure.number, points)],
        partial(figures.draw, figure),
    )


FIGURES = [_study(figure) for figure in figures.FIGURES]
PAPER = Paper(
    about="split connections for group communication (Emina et al. 2011)",
    default=lambda quick: FIGURES,
    studies=STUDIES,
)
