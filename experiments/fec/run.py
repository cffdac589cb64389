"""`groupflow experiment fec`: how late a gathered stream comes out, with and without erasure coding."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from experiments.fec import latency
from experiments.fec.plan import Result, cases
from groupflow.cli.command import FAILURE, OK, failing_with
from groupflow.client.errors import ClientError
from groupflow.study.files import write_json
from groupflow.study.options import ExperimentOptions
from topologies.controller import ControllerError
from topologies.daemon import DaemonError
from topologies.gfswitch import ControlError
from topologies.leftovers import InUseError
from topologies.network import NetworkError

ERRORS = (ClientError, NetworkError, DaemonError, ControllerError, ControlError, InUseError)


def run(options: ExperimentOptions) -> int:
    """Table and `summary.json` of the latencies. Raises CommandError."""
    seconds = 10.0 if options.quick else 40.0
    console = Console(stderr=options.json)
    results: list[Result] = []
    with failing_with(*ERRORS):
        for number, case in enumerate(cases(options.quick)):
            console.print(f"{case.title}: {seconds:g} s ...")
            folder = options.out / str(number)
            shutil.rmtree(folder, ignore_errors=True)
            results.append(latency.run(case, seconds, folder))
    write_json(
        options.out / "summary.json", {"seconds": seconds, "runs": [asdict(result) for result in results]}
    )
    show(options, results, console)
    for result in results:
        for line in result.cpu_bound:
            print(
                f"groupflow: CPU-bound, do not trust the figures: {result.case.title}: {line}",
                file=sys.stderr,
            )
    return FAILURE if any(result.cpu_bound for result in results) else OK


def show(options: ExperimentOptions, results: Sequence[Result], console: Console) -> None:
    """As a table, or as JSON."""
    if options.json:
        json.dump([asdict(result) for result in results], sys.stdout, indent=2)
        print()
        return
    table = Table("run", "median", "95 %", "99 %", "longest", "made of parity")
    for r in results:
        latencies = [f"{1000 * value:.0f} ms" for value in (r.median, r.p95, r.p99, r.longest)]
        table.add_row(r.case.title, *latencies, f"{r.made / 1000:.0f} kB")
    console.print(table)
