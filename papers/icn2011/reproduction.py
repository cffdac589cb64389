"""The paper for the command: its figures 6 to 12 and studies beyond them."""

from functools import partial

from groupflow.study.experiment import AnyStudy, Experiment
from papers.icn2011 import claims, figures, findings
from papers.icn2011.figures import Figure
from papers.icn2011.outcome import SIMULATION, runs
from papers.icn2011.paper import usual_loads
from papers.icn2011.studies import STUDIES


def _study(figure: Figure) -> AnyStudy:
    return SIMULATION.study(
        f"figure-{figure.number}",
        figure.title,
        runs(lambda quick: figure.cases(usual_loads(quick))),
        lambda points: [*claims.evaluate(figure.number, points), *findings.evaluate(figure.number, points)],
        partial(figures.draw, figure),
    )


FIGURES = [_study(figure) for figure in figures.FIGURES]
EXPERIMENT = Experiment(
    "split connections for group communication (Emina et al. 2011): half an hour on two cores",
    [*FIGURES, *STUDIES],
    default=lambda quick: FIGURES,
)
