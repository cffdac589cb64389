"""Measurements of a run."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TypeAlias

from groupflow.study.experiment import Simulation, by_case, grouped, seeded
from groupflow.study.files import Row
from papers.cmt.sockets import paper
from papers.cmt.sockets.infer import inferred
from papers.cmt.sockets.network import Path, transfer
from papers.cmt.sockets.paper import QUICK_SEEDS, SEEDS, Case, Run


@dataclass(frozen=True)
class Outcome:
    """Measurements of one run."""

    run: paper.Run
    path: Path
    """the path of the run"""
    seconds: float
    """time until all of the file had arrived"""
    lost: int
    packet_hops: int

    @property
    def simulated_s(self) -> float:
        return self.seconds


Times: TypeAlias = Mapping[tuple[int, int], float]
"""seconds, means over the seeds, by buffer and connections"""


@dataclass(frozen=True)
class Found:
    """All outcomes with one choice of the open parameters."""

    path: Path
    times: Times

    def row(self, buffer: int) -> dict[int, float]:
        """Times by number of connections."""
        return {n: s for (b, n), s in sorted(self.times.items()) if b == buffer}

    def column(self, connections: int) -> dict[int, float]:
        """Times by buffer."""
        return {b: s for (b, n), s in sorted(self.times.items()) if n == connections}


Outcomes: TypeAlias = Mapping[int | None, Found]


def run_one(run: paper.Run) -> Outcome:
    """Simulates a run. Raises RunFailedError."""
    path = inferred(run.case.queue)
    measured = transfer(run.case, path, run.seed)
    return Outcome(run, path, measured.seconds, measured.lost, measured.packet_hops)


def by_choice(outcomes: Iterable[Outcome]) -> Outcomes:
    """Means over the seeds, by queue."""
    return {
        queue: Found(
            found[0].path,
            {
                (case.buffer, case.connections): fmean(each.seconds for each in runs)
                for case, runs in by_case(found).items()
            },
        )
        for queue, found in grouped(outcomes, lambda outcome: outcome.run.case.queue).items()
    }


def mbps(seconds: float) -> float:
    """The rate of a transfer of so many seconds in the paper's Mbps."""
    return paper.FILE * 8 / seconds / paper.MBPS


def listed_s(case: paper.Case) -> float | None:
    """The paper's time for a case, where it has one."""
    if case.connections == 1:
        return paper.TABLE_1_S.get(case.buffer)
    if case.buffer == paper.SMALL:
        return paper.TABLE_2_S.get(case.connections)
    return paper.THREE_S if (case.buffer, case.connections) == (paper.MIDDLE, paper.THREE) else None


def row(outcome: Outcome) -> Row:
    """A row of a table, with the paper's time where it has one."""
    case = outcome.run.case
    return {
        "buffer": case.buffer,
        "connections": case.connections,
        "queue": case.queue,
        "seed": outcome.run.seed,
        "rtt_ms": outcome.path.rtt_s * 1000,
        "loss_percent": outcome.path.loss * 100,
        "rate_mbps": outcome.path.rate_bps / 1e6,
        "seconds": outcome.seconds,
        "mbps": mbps(outcome.seconds),
        "lost": outcome.lost,
        "paper_s": listed_s(case),
    }


SIMULATION: Simulation[Run, Outcome, Outcomes] = Simulation(
    simulate=run_one,
    group=by_choice,
    rows=lambda outcome: [row(outcome)],
    title=lambda run: f"{run.case.buffer:,} bytes, {run.case.connections} connections",
    cost=lambda run: 1 / run.case.connections,
)


def runs(cases: Callable[[bool], Iterable[Case]], seeds: int = SEEDS) -> Callable[[bool, int], list[Run]]:
    return seeded(cases, lambda case, seed, _: Run(case, seed), seeds, QUICK_SEEDS)
