"""How a run of this paper is simulated, and which runs a case has."""

from collections.abc import Callable, Iterable

from groupflow import sim
from groupflow.study.paper import Simulation, seeded
from groupflow.study.pool import end_when_told
from papers.icn2011 import network
from papers.icn2011.outcome import Outcome, Points, measure, points, row
from papers.icn2011.paper import QUICK_SECONDS, QUICK_SEEDS, SECONDS, SEEDS, Case
from papers.icn2011.plan import Run


def run_one(run: Run) -> Outcome:
    scenario = network.scenario(run.case, seconds=run.seconds, seed=run.seed)
    return measure(run, sim.run(scenario, end_when_told))


SIMULATION: Simulation[Run, Outcome, Points] = Simulation(
    simulate=run_one,
    group=points,
    rows=lambda outcome: [row(outcome)],
    title=lambda run: f"{run.case.method} {run.case.load:g}",
    cost=lambda run: run.cost,
)


def runs(cases: Callable[[bool], Iterable[Case]]) -> Callable[[bool, int], list[Run]]:
    """With as many seeds as the paper has, for as long; or the short variant."""
    return seeded(
        cases,
        lambda case, seed, quick: Run(case, seed, QUICK_SECONDS if quick else SECONDS),
        SEEDS,
        QUICK_SEEDS,
    )
