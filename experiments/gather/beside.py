"""The same runs in netsim, and a comparison: throughput of high and of low priority clients."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from rich.console import Console

from experiments.common.beside import VARIANTS, Comparison
from experiments.gather.labs import title
from groupflow.study.pool import run_all
from papers.sakajiri.claims import When, after, before, during, whole
from papers.sakajiri.outcome import SIMULATION, Outcome
from papers.sakajiri.paper import HIGH, LOW, Run


def simulate(runs: Iterable[Run], jobs: int, console: Console) -> Generator[Outcome]:
    """Simulates runs whose TCP netsim has: yields outcomes as they come, each for a run of the kernel."""
    stands_for = {simulated(run): run for run in runs if run.case.tcp in VARIANTS}
    one = [partial(SIMULATION.simulate, run) for run in stands_for]
    for outcome in run_all(one, cores=jobs, console=console, what=lambda o: SIMULATION.title(o.run)):
        yield replace(outcome, run=stands_for[outcome.run])


def simulated(run: Run) -> Run:
    """The run with netsim's TCP that is most like the kernel's."""
    return replace(run, case=replace(run.case, tcp=VARIANTS[run.case.tcp]))


def compare(real: Sequence[Outcome], netsim: Sequence[Outcome]) -> list[Comparison]:
    """All quantities of the runs that exist both on the real network and in netsim."""
    others = {outcome.run: outcome for outcome in netsim}
    return [
        Comparison(title(outcome.run), case_form(outcome.run), name, "Mb/s", here, there)
        for outcome in real
        if outcome.run in others
        for (name, here), (_, there) in zip(quantities(outcome), quantities(others[outcome.run]), strict=True)
    ]


def quantities(outcome: Outcome) -> Iterator[tuple[str, float]]:
    """Name and Mb/s, in the same order for a run on the real network and in netsim."""
    for when, span in spans(outcome.run):
        for group, names in (("high priority", HIGH), ("low priority", LOW)):
            there = [outcome.series[name].mean(span(outcome)) for name in names if name in outcome.series]
            yield f"{group}{when and ', '}{when}", sum(there) / len(there) if there else 0.0


def spans(run: Run) -> list[tuple[str, When]]:
    """Spans that are compared apart: with interference, the time before, during and after it."""
    if run.case.interference and run.case.situation == "paper":
        return [("before", before), ("during", during), ("after", after)]
    return [("", whole)]


def case_form(run: Run) -> dict[str, Any]:
    case = run.case
    return {
        "title": title(run),
        "method": case.method,
        "tcp": case.tcp,
        "interference": case.interference,
        "situation": case.situation,
        "links": asdict(case.links),
        "seconds": run.seconds,
        "seed": run.seed,
    }
