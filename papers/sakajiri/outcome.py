"""Measurements of one run: throughput, connections and buffer of every client in every round."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TypeAlias

from groupflow.sim import gather
from groupflow.sim.gather import Round
from groupflow.study.experiment import Simulation, by_case, grouped, seeded
from groupflow.study.files import Row
from groupflow.study.pool import end_when_told
from papers.sakajiri import network
from papers.sakajiri.paper import FULL, MEGABIT, NAMES, QUICK, QUICK_SEEDS, SEEDS, Case, Run

Span: TypeAlias = tuple[float, float]
"""seconds: from, until"""


@dataclass(frozen=True)
class Series:
    """One client, round by round. Arrays, because a study may have a thousand of these."""

    ends_s: Sequence[float]
    mbps: Sequence[float]
    connections: Sequence[int]
    """number of its connections"""
    windows: Sequence[int]
    """bytes of its buffer; 0: the kernel decided"""
    rtts_ms: Sequence[float]

    def mean(self, span: Span) -> float:
        """Mb/s in a span; 0 where the client did not send."""
        found = [rate for end, rate in zip(self.ends_s, self.mbps, strict=True) if span[0] < end <= span[1]]
        return fmean(found) if found else 0.0

    def means(self, span: Span) -> dict[str, float]:
        """Means of all its series in a span; empty where the client did not send."""
        inside = [n for n, end in enumerate(self.ends_s) if span[0] < end <= span[1]]
        if not inside:
            return {}
        return {
            "mbps": round(self.mean(span), 4),
            "connections": round(fmean(self.connections[n] for n in inside), 2),
            "window": round(fmean(self.windows[n] for n in inside)),
            "rtt_ms": round(fmean(self.rtts_ms[n] for n in inside), 2),
        }


@dataclass(frozen=True)
class Outcome:
    """Measurements of one run."""

    run: Run
    series: Mapping[str, Series]
    packet_hops: int
    wall_s: float

    @property
    def simulated_s(self) -> float:
        return self.run.seconds

    @property
    def whole(self) -> Span:
        return (self.run.scale.warm_up_s, self.run.seconds)

    @property
    def before(self) -> Span:
        return (self.run.scale.warm_up_s, self.run.interference_s[0])

    @property
    def during(self) -> Span:
        """The interference without its first tenth, in which the tuning settles."""
        start, stop = self.run.interference_s
        return (start + 0.1 * (stop - start), stop)

    @property
    def after(self) -> Span:
        """The time after the interference, likewise."""
        stop = self.run.interference_s[1]
        return (stop + 0.1 * (self.run.seconds - stop), self.run.seconds)


Outcomes: TypeAlias = Mapping[Case, Sequence[Outcome]]
"""outcomes of each case, one for each seed"""


def measure(run: Run, rounds: Sequence[Round], packet_hops: int, wall_s: float) -> Outcome:
    """The outcome of a run, with the rounds as series by client."""
    by_client = grouped((each for each in rounds if each.end_s > 0), lambda each: each.client)
    series = {
        client: Series(
            ends_s=tuple(each.end_s for each in found),
            mbps=tuple(each.reading.throughput / MEGABIT for each in found),
            connections=tuple(each.reading.connections for each in found),
            windows=tuple(each.reading.window or 0 for each in found),
            rtts_ms=tuple(1000 * (each.reading.rtt or 0.0) for each in found),
        )
        for client, found in by_client.items()
    }
    return Outcome(run, series, packet_hops, wall_s)


TABLE_S = 10.0


def rows(outcome: Outcome) -> Iterable[Row]:
    """Rows of a table, one for each client and ten seconds."""
    run = outcome.run
    case = {"method": run.case.method, "tcp": run.case.tcp, "situation": run.case.situation}
    case |= {"gamma": run.case.gamma, "xi": run.case.xi}
    link = asdict(run.case.links)
    for client, series in outcome.series.items():
        for step in range(round(run.seconds / TABLE_S)):
            span = (step * TABLE_S, (step + 1) * TABLE_S)
            if means := series.means(span):
                yield {
                    **case, "interference": int(run.case.interference), **link, "seed": run.seed,
                    "client": client, "until_s": span[1], **means,
                }  # fmt: skip


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
