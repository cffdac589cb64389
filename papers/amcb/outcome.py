"""Measurements of a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TypeAlias

from groupflow import sim
from groupflow.study import RunFailedError
from groupflow.study.experiment import Simulation, by_case, seeded
from groupflow.study.files import Row
from groupflow.study.pool import end_when_told
from papers.amcb import network
from papers.amcb.paper import NAMES, QUICK_SEEDS, SEEDS, TABLE, Case, Run


@dataclass(frozen=True)
class Outcome:
    """Measurements of one run."""

    run: Run
    latency_s: float
    again_percent: float
    """bytes sent again over the file's bytes"""
    packet: float
    """mean bytes of payload of a packet"""
    rounds: int
    answers: int
    complete: int
    """rims with every byte as it was sent"""
    packet_hops: int
    simulated_s: float


Outcomes: TypeAlias = Mapping[Case, Sequence[Outcome]]


def measure(run: Run, results: sim.Results) -> Outcome:
    """The measurements in the results. Raises RunFailedError."""
    flows = results.flows
    rims = [flows[f"hub-r{n}"] for n in range(run.case.rims)]
    transfer = results.bones.get("hub")
    if transfer is None or not transfer.done:
        raise RunFailedError(
            f"{results.summary['scenario']}: the transfer did not end in {results.simulated_s:g} s"
        )
    if wrong := results.dropped(reason="malformed"):
        raise RunFailedError(f"{results.summary['scenario']}: {wrong} messages or bytes were wrong")
    copies = run.case.rims if run.case.method == "unicast" else 1
    return Outcome(
        run=run,
        latency_s=transfer.duration_s,
        again_percent=100 * (transfer.sent_bytes / run.case.size - copies),
        packet=transfer.sent_bytes / transfer.packets,
        rounds=transfer.rounds,
        answers=transfer.answers,
        complete=sum(bool(rim.finished) for rim in rims),
        packet_hops=results.packet_hops,
        simulated_s=transfer.duration_s,
    )


def latency(outcomes: Sequence[Outcome]) -> float:
    """Latency in s, mean over the seeds."""
    return fmean(outcome.latency_s for outcome in outcomes)


def again(outcomes: Sequence[Outcome]) -> float:
    """Bytes sent again in per cent of the file, mean over the seeds."""
    return fmean(outcome.again_percent for outcome in outcomes)


def row(outcome: Outcome) -> Row:
    """A row of a table, with the paper's figures where the paper has them."""
    case = outcome.run.case
    listed = case.repair == "go_back_n" and case.fixed is None and case.rims == 3 and case.link == "inferred"
    cell = TABLE.get(case.size, {}).get(case.method) if listed else None
    measured = {key: value for key, value in asdict(outcome).items() if key not in ("run", "simulated_s")}
    paper = {
        "paper_latency_s": cell.latency_s if cell else None,
        "paper_again_percent": cell.again_percent if cell else None,
    }
    return asdict(case) | {"seed": outcome.run.seed} | measured | paper


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
