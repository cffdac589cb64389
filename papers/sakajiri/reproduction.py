"""The paper for the command: its figures 3, 5, 6 and 7, its Table II, and studies beyond them."""

from functools import partial

from groupflow.study.experiment import AnyStudy, Experiment
from papers.sakajiri.claims import RULES
from papers.sakajiri.figures import FIGURES, Figure
from papers.sakajiri.outcome import SIMULATION, runs
from papers.sakajiri.studies import STUDIES


def _study(name: str, figure: Figure) -> AnyStudy:
    cases = runs(lambda quick: figure.cases)
    return SIMULATION.study(name, figure.title, cases, RULES[name], partial(figure.draw, figure.title))


FIGURES_AND_TABLE = [_study(name, figure) for name, figure in FIGURES.items()]
EXPERIMENT = Experiment(
    "receiver-side tuning on a server that gathers (Sakajiri et al.): 85 s on a core",
    [*FIGURES_AND_TABLE, *STUDIES],
    default=lambda quick: FIGURES_AND_TABLE,
)
