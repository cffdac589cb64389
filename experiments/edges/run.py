"""`groupflow experiment edges`: goodput of an edge under losses, beside a flow, and of datagrams."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from experiments.edges import measure
from experiments.edges.plan import Outcome, cases
from experiments.tree.run import ERRORS
from groupflow.cli.command import FAILURE, OK, failing_with
from groupflow.study.files import write_json
from groupflow.study.options import ExperimentOptions


def run(options: ExperimentOptions) -> int:
    """Exit code 1 where a switch lagged behind: the figures would be about the machine."""
    console = Console(stderr=options.json)
    seconds = 5.0 if options.quick else 12.0
    outcomes: list[Outcome] = []
    options.out.mkdir(parents=True, exist_ok=True)
    with failing_with(*ERRORS):
        for number, case in enumerate(cases(options.quick)):
            folder = options.out / str(number)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            outcomes.append(measure.run(case, seconds, folder))
            console.print(_line(outcomes[-1]))
    write_json(options.out / "outcomes.json", [asdict(each) for each in outcomes])
    console.print(_table(outcomes))
    if options.json:
        print(json.dumps([asdict(each) for each in outcomes]))
    lagging = [line for each in outcomes for line in each.cpu_bound]
    for line in lagging:
        console.print(f"CPU-bound, do not trust the figures: {line}")
    return FAILURE if lagging else OK


def _line(outcome: Outcome) -> str:
    case = outcome.case
    trouble = f"beside {case.beside}" if case.beside else f"loss {case.loss / 1e7:g} %"
    beside = f", {outcome.beside_bps / 1e6:.2f} beside it" if case.beside else ""
    return f"{case.kind.name}, {trouble}: {outcome.goodput_bps / 1e6:.2f} Mbit/s{beside}"


def _table(outcomes: Sequence[Outcome]) -> Table:
    table = Table("edge", "offered, Mbit/s", "loss", "beside", "goodput, Mbit/s", "of the other flow", "lost")
    for outcome in outcomes:
        case = outcome.case
        table.add_row(
            case.kind.name,
            f"{case.offered_bps / 1e6:g}",
            f"{case.loss / 1e7:g} %",
            case.beside or "",
            f"{outcome.goodput_bps / 1e6:.2f}",
            f"{outcome.beside_bps / 1e6:.2f}" if case.beside else "",
            f"{outcome.missing:.2%}",
        )
    return table
