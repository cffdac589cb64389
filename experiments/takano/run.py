"""`groupflow reproduce takano`: runs the scenarios, writes data, figures and claims, prints the table."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from experiments.common.claims import RunSummary, print_claims, write_claims
from experiments.takano import figures, network
from experiments.takano.claims import evaluate
from experiments.takano.outcome import Outcome, load
from experiments.takano.paper import CASES, QUICK_CASES, QUICK_SECONDS, Case
from groupflow import sim
from groupflow.cli.command import OK, REFUSED, CommandError
from groupflow.cli.experiments import ExperimentOptions

Job = tuple[Case, bool]


def run(options: ExperimentOptions) -> int:
    """Exit code 0 when everything ran, whether the claims hold or not: that is what is measured."""
    cases = _chosen(options)
    seconds = QUICK_SECONDS if options.quick else None
    jobs: list[Job] = [(case, dfc) for case in cases for dfc in (False, True)]
    # The longest first: no core waits for one of them at the end.
    jobs.sort(key=lambda job: job[0].bandwidth_bps * job[0].nodes * job[0].seconds, reverse=True)
    started = time.monotonic()
    console = Console(stderr=options.json)
    outcomes = {(o.case.name, o.dfc): o for o in _all(jobs, options, seconds, console)}
    for case in cases:
        _draw(options.out, outcomes[case.name, False], outcomes[case.name, True])
    claims = evaluate(outcomes)
    summary = RunSummary(
        wall_s=round(time.monotonic() - started, 3),
        simulated_s=round(sum(float(o.time_s[-1]) for o in outcomes.values()), 6),
        packet_hops=sum(o.packet_hops for o in outcomes.values()),
        seed=options.seed,
    )
    write_claims(options.out, claims, summary)
    if options.json:
        json.dump({"claims": [asdict(c) for c in claims], "run": asdict(summary)}, sys.stdout, indent=2)
        print()
    else:
        print_claims(console, claims)
        console.print(
            f"{summary.packet_hops / 1e6:.0f} million packet hops in {summary.wall_s:.0f} s; {options.out}"
        )
    return OK


def _chosen(options: ExperimentOptions) -> list[Case]:
    names = options.scenarios or (QUICK_CASES if options.quick else tuple(CASES))
    for name in names:
        if name not in CASES:
            raise CommandError(f"--scenario {name}: the paper has {', '.join(CASES)}", REFUSED)
    return [CASES[name] for name in names]


def _all(
    jobs: Sequence[Job], options: ExperimentOptions, seconds: float | None, console: Console
) -> Iterable[Outcome]:
    """Runs the jobs on `options.jobs` cores. What is finished stays in `out` when the rest is interrupted."""
    one = partial(run_one, out=options.out / "data", seconds=seconds, seed=options.seed)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with (
        Progress(*columns, TimeElapsedColumn(), console=console) as bar,
        ProcessPoolExecutor(options.jobs) as pool,
    ):
        task = bar.add_task("scenarios", total=len(jobs))
        pending = [pool.submit(one, case, dfc=dfc) for case, dfc in jobs]
        try:
            for done in as_completed(pending):
                outcome = done.result()
                bar.update(task, advance=1, description=f"scenario {outcome.case.name}")
                yield outcome
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run_one(case: Case, *, dfc: bool, out: Path, seconds: float | None, seed: int) -> Outcome:
    """Runs one scenario; its data is in a folder of its own, complete or not there."""
    scenario = network.scenario(case, dfc=dfc, seconds=seconds, seed=seed)
    out.mkdir(parents=True, exist_ok=True)
    results = sim.run(scenario, out=out / scenario.name)
    return load(case, dfc, results, network.joins_s(seconds))


def _draw(out: Path, tcp: Outcome, dfc: Outcome) -> None:
    figure = tcp.case.figure.removeprefix("Fig. ")
    figures.efficiency(out / f"figure-{figure}-scenario-{tcp.case.name}.png", tcp, dfc)
    if tcp.case.name == "4":
        figures.stored(out / "figure-12-13.png", tcp, dfc)
