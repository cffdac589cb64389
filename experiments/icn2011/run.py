"""`groupflow reproduce icn2011`: runs all points, writes data, figures and claims, prints the table."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from typing import TypeAlias

from rich.console import Console

from experiments.common.claims import RunSummary, print_claims, write_claims, write_json
from experiments.common.pool import run_all
from experiments.icn2011 import figures, network
from experiments.icn2011.claims import evaluate
from experiments.icn2011.outcome import Run, measure, points, rows
from experiments.icn2011.paper import (
    LOADS,
    QUICK_LOADS,
    QUICK_SECONDS,
    QUICK_SEEDS,
    SECONDS,
    SEEDS,
    Case,
    cases,
)
from groupflow import sim
from groupflow.cli.command import OK, REFUSED, CommandError
from groupflow.cli.experiments import ExperimentOptions

Job: TypeAlias = tuple[Case, int]


def run(options: ExperimentOptions) -> int:
    """Exit code 0 when everything ran, whether the claims hold or not: that is what is measured."""
    if options.scenarios:
        raise CommandError("--scenario: this paper has none; leave it out", REFUSED)
    seconds = QUICK_SECONDS if options.quick else SECONDS
    seeds = range(options.seed, options.seed + (QUICK_SEEDS if options.quick else SEEDS))
    chosen = cases(QUICK_LOADS if options.quick else LOADS)
    options.out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    console = Console(stderr=options.json)
    runs = simulate(chosen, seeds, seconds=seconds, cores=options.jobs, console=console)
    found = points(runs)
    write_json(options.out / "points.json", rows(found))
    figures.draw(options.out, found)
    claims = evaluate(found)
    summary = RunSummary(
        wall_s=round(time.monotonic() - started, 3),
        simulated_s=round(sum(each.simulated_s for each in runs), 6),
        packet_hops=sum(each.packet_hops for each in runs),
        seed=options.seed,
    )
    write_claims(options.out, claims, summary)
    if options.json:
        json.dump({"claims": [asdict(c) for c in claims], "run": asdict(summary)}, sys.stdout, indent=2)
        print()
    else:
        print_claims(console, claims)
        console.print(
            f"{len(runs)} runs, {summary.packet_hops / 1e6:.0f} million packet hops"
            f" in {summary.wall_s:.0f} s; {options.out}"
        )
    return OK


def simulate(
    chosen: Iterable[Case], seeds: Iterable[int], *, seconds: float, cores: int, console: Console
) -> list[Run]:
    """Runs every case with every seed; gives them in this order."""
    # The longest first: no core waits for one of them at the end.
    wanted: list[Job] = [(case, seed) for case in chosen for seed in seeds]
    jobs = sorted(wanted, key=lambda job: _work(job[0]), reverse=True)
    one = partial(run_one, seconds=seconds)
    done = run_all(
        one, jobs, cores=cores, console=console, what=lambda run: f"{run.case.method} {run.case.load}"
    )
    order = {job: place for place, job in enumerate(wanted)}
    return sorted(done, key=lambda run: order[run.case, run.seed])


def _work(case: Case) -> float:
    """About how many packets a run moves."""
    return case.load * (case.senders * 5 if case.senders > 1 else 2 + 3 * case.members)


def run_one(job: Job, *, seconds: float) -> Run:
    """Runs one case with one seed."""
    case, seed = job
    return measure(case, seed, sim.run(network.scenario(case, seconds=seconds, seed=seed)))
