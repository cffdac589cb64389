"""The paper for the command: its scenarios, and studies beyond them."""

from functools import partial
from pathlib import Path

from groupflow.study.experiment import AnyStudy, Experiment
from papers.takano import figures, influenced, spreading
from papers.takano.claims import RULES
from papers.takano.judge import evaluate
from papers.takano.outcome import SIMULATION, Outcomes, by_label
from papers.takano.paper import CASES, MEGABIT, QUICK_CASES, QUICK_SECONDS
from papers.takano.plan import Run, label, scenario_runs
from papers.takano.studies import STUDIES, hosts


def _scenario(name: str) -> AnyStudy:
    """A scenario without claims: they compare scenarios, and are in `Experiment.across`."""

    def runs(quick: bool, seed: int) -> list[Run]:
        return scenario_runs(name, seconds=QUICK_SECONDS if quick else None, seed=seed)

    case = CASES[name]
    about = f"{case.figure}: {case.tcp}, {case.bandwidth_bps / MEGABIT:,.0f} Mb/s, {case.nodes} nodes"
    drawn = (_figure(name), *(("figure-12", "figure-13") if name == "4" else ()))
    return SIMULATION.study(f"scenario-{name}", about, runs, lambda _: [], partial(_draw, name), *drawn)


def _figure(name: str) -> str:
    return CASES[name].figure.lower().replace(". ", "ure-")


def _draw(name: str, path: Path, outcomes: Outcomes) -> None:
    tcp, dfc = outcomes[label(name, "tcp")], outcomes[label(name, "dfc")]
    figures.efficiency(path.with_name(f"{_figure(name)}-scenario-{name}.png"), tcp, dfc)
    if name == "4":
        figures.stored(path.with_name("figure-12-13.png"), tcp[0], dfc[0])


SCENARIOS = {name: _scenario(name) for name in CASES}
EXPERIMENT = Experiment(
    "diffusion-type flow control and TCP (Takano et al. 2006): 15 to 21 minutes on two cores",
    [influenced.FIGURE_2, spreading.FIGURE_3, *SCENARIOS.values(), *STUDIES, *hosts.STUDIES],
    default=lambda quick: [
        influenced.FIGURE_2,
        spreading.FIGURE_3,
        *(SCENARIOS[name] for name in (QUICK_CASES if quick else CASES)),
        *STUDIES,
    ],
    across=lambda outcomes: evaluate(RULES, by_label(outcomes)),
)
