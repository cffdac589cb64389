"""`groupflow experiment bone`: a file to three rims, through P4 switches under Mininet and in netsim."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from statistics import fmean, pstdev
from typing import Any

from rich.console import Console
from rich.table import Table

from experiments.bone import plan as planned
from experiments.bone import real, simulated
from experiments.bone.plan import Comparison, Plan, Transfer
from groupflow.cli.command import FAILURE, INTERRUPTED, OK, CommandError
from groupflow.client.errors import ClientError
from groupflow.study.files import write_json
from groupflow.study.options import ExperimentOptions
from topologies.controller import ControllerError
from topologies.daemon import DaemonError
from topologies.gfswitch import ControlError
from topologies.leftovers import InUseError
from topologies.network import NetworkError

ERRORS = (real.RunError, ClientError, NetworkError, DaemonError, ControllerError, ControlError, InUseError)


def run(options: ExperimentOptions) -> int:
    """Exit code 1 where a switch lagged behind: the figures would be about the machine.

    An interrupt keeps the runs that are finished.
    """
    plan = planned.quick(options.seed) if options.quick else planned.full(options.seed)
    console = Console(stderr=options.json)
    done: list[Transfer] = []
    lagging: list[str] = []
    interrupted = False
    try:
        with closing(real.execute(plan, options.out / "runs", lagging)) as transfers:
            for transfer in transfers:
                done.append(transfer)
                console.print(f"{transfer.case.title}: {transfer.seconds:.1f} s, {transfer.again:.0%} again")
        done += simulated.execute(plan)
    except ERRORS as error:
        raise CommandError(str(error)) from None
    except KeyboardInterrupt:
        if not done:
            raise
        interrupted = True
    report(options, plan, done, lagging, console)
    for line in lagging:
        print(f"groupflow: CPU-bound, do not trust the figures: {line}", file=sys.stderr)
    if interrupted:
        print(f"groupflow: interrupted after {len(done)} runs", file=sys.stderr)
        return INTERRUPTED
    return FAILURE if lagging else OK


def compare(plan: Plan, transfers: Sequence[Transfer]) -> list[Comparison]:
    """Means of the cases that were run in both places."""
    found: list[Comparison] = []
    for case in plan.cases:
        kernel, netsim = (
            [each for each in transfers if each.case == case and each.where == where]
            for where in ("kernel", "netsim")
        )
        if kernel and netsim:
            seconds = [[each.seconds for each in runs] for runs in (kernel, netsim)]
            again = [[each.again for each in runs] for runs in (kernel, netsim)]
            for quantity, (real_runs, simulated_runs) in (("seconds", seconds), ("again", again)):
                means = fmean(real_runs), fmean(simulated_runs)
                found.append(Comparison(case, quantity, *means, len(real_runs), pstdev(simulated_runs)))
    return found


def report(
    options: ExperimentOptions,
    plan: Plan,
    transfers: Sequence[Transfer],
    lagging: Sequence[str],
    console: Console,
) -> None:
    """Writes `results.json`, and prints it, or a table."""
    compared = compare(plan, transfers)
    form: dict[str, Any] = {
        "size": plan.size,
        "transfers": [asdict(each) for each in transfers],
        "beside_netsim": [
            asdict(each) | {"difference": each.difference, "plausible": each.plausible} for each in compared
        ],
        "cpu_bound": list(lagging),
    }
    write_json(options.out / "results.json", form)
    if options.json:
        json.dump(form, sys.stdout, indent=2)
        print()
        return
    table = Table("sent", "quantity", "real packets", "netsim", "a run's spread", "differs by")
    for each in compared:
        apart = "" if each.plausible else f"{each.difference:+.0%}"
        figures = (f"{each.kernel:.2f}", f"{each.netsim:.2f}", f"{each.spread:.2f}")
        table.add_row(each.case.title, each.quantity, *figures, apart)
    console.print(table)
    near = sum(each.plausible for each in compared)
    console.print(f"within two standard errors of netsim: {near} of {len(compared)}")
    console.print(f"data: {options.out}")
