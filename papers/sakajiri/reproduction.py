"""The paper for the command: its figures 3, 5, 6 and 7, its Table II, and studies beyond them."""

from functools import partial

from groupflow.study.paper import Paper, Study
from papers.sakajiri.claims import RULES
from papers.sakajiri.figures import FIGURES, Figure
from papers.sakajiri.outcome import Outcome, Outcomes
from papers.sakajiri.paper import Run
from papers.sakajiri.simulation import SIMULATION, runs
from papers.sakajiri.studies import STUDIES


def _study(name: str, figure: Figure) -> Study[Run, Outcome, Outcomes]:
    cases = runs(lambda quick: figure.cases)
    return Study(name, figure.title, SIMULATION, cases, RULES[name], partial(figure.draw, figure.title))


FIGURES_AND_TABLE = [_study(name, figure) for name, figure in FIGURES.items()]
PAPER = Paper(
    about="receiver-side tuning on a server that gathers (Sakajiri et al.)",
    default=lambda quick: FIGURES_AND_TABLE,
    studies=STUDIES,
)
