"""The simulation of a run of this paper, and the runs of a case."""

from collections.abc import Callable, Iterable

from groupflow import sim
from groupflow.study.paper import Simulation, seeded
from groupflow.study.pool import end_when_told
from papers.icn2011 import network
from papers.icn2011.outcome import Outcome, Points, measure, points, row
from papers.icn2011.paper import (
    BEYOND,
    QUICK_SECONDS,
    QUICK_SECONDS_BEYOND,
    QUICK_SEEDS,
    SECONDS,
    SEEDS,
    Case,
)
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
    """Makes runs of the cases with the paper's number of seeds and duration; or of the short variant, in
    which methods beyond the paper's have one seed."""
    made = seeded(cases, lambda case, seed, quick: Run(case, seed, _seconds(case, quick)), SEEDS, QUICK_SEEDS)
    return lambda quick, seed: [
        run for run in made(quick, seed) if not (quick and run.case.method in BEYOND and run.seed > seed)
    ]


def _seconds(case: Case, quick: bool) -> float:
    if not quick:
        return SECONDS
    return QUICK_SECONDS_BEYOND if case.method in BEYOND else QUICK_SECONDS
