"""The simulation of a run of this paper, and the runs of a case."""

from collections.abc import Callable, Iterable

from groupflow import sim
from groupflow.study.paper import Simulation, by_case, seeded
from groupflow.study.pool import end_when_told
from papers.amcb import network
from papers.amcb.outcome import Outcome, Outcomes, measure, row
from papers.amcb.paper import NAMES, QUICK_SEEDS, SEEDS, Case, Run


def run_one(run: Run) -> Outcome:
    """Simulates a run. Raises RunFailedError."""
    return measure(run, sim.run(network.scenario(run), end_when_told))


SIMULATION: Simulation[Run, Outcome, Outcomes] = Simulation(
    simulate=run_one,
    group=by_case,
    rows=lambda outcome: [row(outcome)],
    title=lambda run: f"{NAMES[run.case.method]}, {run.case.size:,} bytes",
    cost=lambda run: run.case.size * run.case.rims,
)


def runs(cases: Callable[[bool], Iterable[Case]]) -> Callable[[bool, int], list[Run]]:
    return seeded(cases, lambda case, seed, _: Run(case, seed), SEEDS, QUICK_SEEDS)
