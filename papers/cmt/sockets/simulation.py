"""The simulation of a transfer, and the runs of a case."""

from collections.abc import Callable, Iterable

from groupflow.study.paper import Simulation, seeded
from papers.cmt.sockets.outcome import Outcome, Outcomes, by_choice, row, run_one
from papers.cmt.sockets.paper import QUICK_SEEDS, SEEDS, Case, Run

SIMULATION: Simulation[Run, Outcome, Outcomes] = Simulation(
    simulate=run_one,
    group=by_choice,
    rows=lambda outcome: [row(outcome)],
    title=lambda run: f"{run.case.buffer:,} bytes, {run.case.connections} connections",
    cost=lambda run: 1 / run.case.connections,
)


def runs(cases: Callable[[bool], Iterable[Case]], seeds: int = SEEDS) -> Callable[[bool, int], list[Run]]:
    return seeded(cases, lambda case, seed, _: Run(case, seed), seeds, QUICK_SEEDS)
