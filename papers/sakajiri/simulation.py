"""The simulation of a run of this paper, and the runs of a case."""

import time
from collections.abc import Callable, Iterable

from groupflow.sim import gather
from groupflow.study.paper import Simulation, by_case, seeded
from groupflow.study.pool import end_when_told
from papers.sakajiri import network
from papers.sakajiri.outcome import Outcome, Outcomes, measure, rows
from papers.sakajiri.paper import FULL, NAMES, QUICK, QUICK_SEEDS, SEEDS, Case, Run


def run_one(run: Run) -> Outcome:
    started = time.monotonic()
    rounds, hops = gather.run(network.scenario(run), network.gathering(run), end_when_told)
    return measure(run, rounds, hops, time.monotonic() - started)


SIMULATION: Simulation[Run, Outcome, Outcomes] = Simulation(
    simulate=run_one,
    group=by_case,
    rows=rows,
    title=lambda run: NAMES[run.case.method],
    cost=lambda run: run.seconds,
)


def runs(cases: Callable[[bool], Iterable[Case]], seeds: int = SEEDS) -> Callable[[bool, int], list[Run]]:
    return seeded(
        cases, lambda case, seed, quick: Run(case, seed, QUICK if quick else FULL), seeds, QUICK_SEEDS
    )
