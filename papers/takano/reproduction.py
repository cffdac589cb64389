"""The paper for the command: its scenarios, and studies beyond them."""

from functools import partial
from pathlib import Path

from groupflow.study.paper import Paper, Study
from papers.takano import figures, influenced
from papers.takano.claims import RULES
from papers.takano.judge import Outcomes, by_label, evaluate
from papers.takano.outcome import Outcome
from papers.takano.paper import CASES, MEGABIT, QUICK_CASES, QUICK_SECONDS
from papers.takano.plan import Run, label, scenario_runs
from papers.takano.simulation import SIMULATION
from papers.takano.studies import NAMED, STUDIES


def _scenario(name: str) -> Study[Run, Outcome, Outcomes]:
    """A scenario without claims: they compare scenarios, and are in `Paper.across`."""

    def runs(quick: bool, seed: int) -> list[Run]:
        return scenario_runs(name, seconds=QUICK_SECONDS if quick else None, seed=seed)

    case = CASES[name]
    about = f"{case.figure}: {case.tcp}, {case.bandwidth_bps / MEGABIT:,.0f} Mb/s, {case.nodes} nodes"
    return Study(f"scenario-{name}", about, SIMULATION, runs, lambda _: [], partial(_draw, name))


def _draw(name: str, path: Path, outcomes: Outcomes) -> None:
    tcp, dfc = outcomes[label(name, "tcp")], outcomes[label(name, "dfc")]
    figure = CASES[name].figure.removeprefix("Fig. ")
    figures.efficiency(path.with_name(f"figure-{figure}-scenario-{name}.png"), tcp, dfc)
    if name == "4":
        figures.stored(path.with_name("figure-12-13.png"), tcp[0], dfc[0])


SCENARIOS = {name: _scenario(name) for name in CASES}
PAPER = Paper(
    about="diffusion-type flow control and TCP (Takano et al. 2006)",
    default=lambda quick: [
        influenced.FIGURE_2,
        *(SCENARIOS[name] for name in (QUICK_CASES if quick else CASES)),
        *(STUDIES[name] for name in STUDIES if name not in NAMED),
    ],
    studies={**STUDIES, influenced.NAME: influenced.FIGURE_2},
    scenarios=SCENARIOS,
    across=lambda outcomes: evaluate(RULES, by_label(outcomes)),
)
