"""`groupflow experiment edges`: goodput of an edge under losses, beside a flow, and of datagrams."""

import shutil
from collections.abc import Generator, Sequence
from dataclasses import asdict

from rich.table import Table

from experiments.edges import measure
from experiments.edges.plan import Outcome, cases
from groupflow.study.experiment import Experiment, Findings, Frame
from groupflow.study.options import ExperimentOptions


def run(options: ExperimentOptions) -> None:
    frame = Frame[Outcome](options)
    frame.run(_outcomes(frame), find)


def _outcomes(frame: Frame[Outcome]) -> Generator[Outcome]:
    seconds = 5.0 if frame.options.quick else 12.0
    for number, case in enumerate(cases(frame.options.quick)):
        folder = frame.options.out / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        outcome = measure.run(case, seconds, folder)
        frame.console.print(_line(outcome))
        frame.lagging += outcome.cpu_bound
        yield outcome


def find(outcomes: Sequence[Outcome]) -> Findings:
    form = [asdict(each) for each in outcomes]
    return Findings({"outcomes.json": form}, form, [_table(outcomes)])


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


EXPERIMENT = Experiment("an edge of a clustered tree over TCP, QUIC and datagrams, under losses", run)
