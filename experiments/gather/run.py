"""`groupflow experiment gather`: Sakajiri et al. with kernel TCP under Mininet, and the same in netsim."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from experiments.common.nearness import WITHIN
from experiments.gather import beside, labs, plan
from experiments.gather.beside import Comparison
from experiments.gather.measured import LabOutcome, Part
from groupflow.cli.command import FAILURE, INTERRUPTED, OK, REFUSED, CommandError
from groupflow.study.claims import Claim
from groupflow.study.files import write_json
from groupflow.study.options import ExperimentOptions
from groupflow.study.report import print_claims
from papers.sakajiri.outcome import Outcome
from papers.sakajiri.paper import Run
from papers.sakajiri.studies import STUDIES


def run(options: ExperimentOptions) -> int:
    """Exit code 1 where a switch lagged behind: the figures would be about the machine.

    Claims that do not hold are a result, not a failure. An interrupt keeps the runs that are finished.
    """
    parts = chosen(options)
    if not labs.may_run():
        raise CommandError("root is needed to make network namespaces; use sudo")
    runs = list(dict.fromkeys(run for part in parts for run in part.runs))
    console = Console(stderr=options.json)
    console.print(forecast(runs, options.jobs))
    real: list[LabOutcome] = []
    netsim: list[Outcome] = []
    interrupted = False
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        with closing(labs.execute(runs, options.jobs, options.out / "logs", console)) as outcomes:
            for outcome in outcomes:
                real.append(outcome)
                for part in parts:
                    part.add(outcome, options.out)
        with closing(beside.simulate(runs, options.jobs, console)) as simulated:
            netsim.extend(simulated)
    except labs.LabFailedError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(
            f"{error.filename or options.out}: {error.strerror}; choose another --out"
        ) from None
    except KeyboardInterrupt:
        if not real:
            raise
        interrupted = True
    report(options, parts, real, beside.compare(real, netsim), console)
    for outcome in real:
        for line in outcome.cpu_bound:
            name = labs.title(outcome.run)
            print(f"groupflow: CPU-bound, do not trust the figures: {name}: {line}", file=sys.stderr)
    if interrupted:
        print(f"groupflow: interrupted after {len(real)} of {len(runs)} runs", file=sys.stderr)
        return INTERRUPTED
    return FAILURE if any(outcome.cpu_bound for outcome in real) else OK


def chosen(options: ExperimentOptions) -> list[Part]:
    """What is named; both models, if nothing is. Raises CommandError."""
    for name in options.scenarios:
        if name not in plan.MODELS:
            raise CommandError(f"--scenario {name}: there are {', '.join(plan.MODELS)}", REFUSED)
    for name in options.studies:
        if name not in STUDIES:
            raise CommandError(f"--study {name}: there are {', '.join(STUDIES)}", REFUSED)
    scenarios, studies = options.scenarios, options.studies
    if not scenarios and not studies:
        scenarios = tuple(plan.MODELS)
    return [
        *(plan.model(name, quick=options.quick, seed=options.seed) for name in dict.fromkeys(scenarios)),
        *(plan.study(name, quick=options.quick, seed=options.seed) for name in dict.fromkeys(studies)),
    ]


def forecast(runs: Sequence[Run], jobs: int) -> str:
    """How long it will take, in a line."""
    lasting = sorted({run.seconds for run in runs})
    each = " and ".join(f"{seconds:g} s" for seconds in lasting)
    minutes = labs.expected_s(runs, jobs) / 60
    return f"{len(runs)} runs of {each}, {min(jobs, len(runs))} at once: {minutes:.0f} minutes (--jobs N)"


def report(
    options: ExperimentOptions,
    parts: Sequence[Part],
    real: Sequence[LabOutcome],
    compared: Sequence[Comparison],
    console: Console,
) -> None:
    """Writes `results.json`, and prints it, or tables."""
    claims = [claim for part in parts for claim in part.claims]
    form: dict[str, Any] = {
        "claims": [asdict(claim) for claim in claims],
        "runs": [outcome_form(outcome) for outcome in real],
        "beside_netsim": [each.form() for each in compared],
    }
    write_json(options.out / "results.json", form)
    if options.json:
        json.dump(form, sys.stdout, indent=2)
        print()
        return
    print_tables(console, claims, compared)
    console.print(f"figures and data: {options.out}")


def print_tables(console: Console, claims: Sequence[Claim], compared: Sequence[Comparison]) -> None:
    table = Table("run", "quantity", "kernel Mb/s", "netsim Mb/s", "differs by")
    for each in compared:
        apart = "" if each.within else f"{each.difference:+.0%}"
        rates = (f"{each.kernel:.2f}", f"{each.netsim:.2f}")
        table.add_row(labs.title(each.run), each.quantity, *rates, apart)
    if compared:
        near = sum(each.within for each in compared)
        console.print(table)
        console.print(f"within {WITHIN:.0%} of the real network: {near} of {len(compared)}")
    print_claims(console, claims)


def outcome_form(outcome: LabOutcome) -> dict[str, Any]:
    """One run: means of every client in each of its spans."""
    return {
        **beside.case_form(outcome.run),
        "clients": {
            name: {
                "delivered_mbps": round(outcome.delivered_mbps.get(name, 0.0), 4),
                "spans": {
                    when or "whole": series.means(span(outcome)) for when, span in beside.spans(outcome.run)
                },
            }
            for name, series in outcome.series.items()
        },
        "interference_mbps": round(outcome.interference_mbps, 4),
        "buffer_peak_bytes": outcome.buffer_peak,
        "tunings_refused": list(outcome.refused),
        "packets_sent_by_switches": outcome.packet_hops,
        "wall_s": round(outcome.wall_s, 1),
        "cpu_bound": list(outcome.cpu_bound),
    }
