"""`groupflow validate [--reuse] [SCENARIO...]`: prints and writes tables of netsim beside ns-2."""

from argparse import ArgumentParser, Namespace
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from rich.progress import track
from rich.table import Table

from experiments.validate import netsim, ns2, report
from experiments.validate.compare import Pair, Row, pairs
from experiments.validate.scenarios import Scenario, scenarios
from groupflow.study.errors import RefusedError
from groupflow.study.experiment import Experiment, Findings, Frame
from groupflow.study.options import ExperimentOptions


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="beginning of a name (default: all)")
    parser.add_argument("--reuse", action="store_true", help="take the runs that are in --out")


def run(args: Namespace) -> None:
    """Raises StudyError where the endpoints, on exact time, are not ns-2's."""
    every = list(scenarios())
    wanted = [each for each in every if each.name.startswith(tuple(args.scenarios or [""]))]
    if not wanted:
        raise RefusedError(f"no scenario begins so; there are {', '.join(each.name for each in every)}")
    frame = Frame[list[Row]](ExperimentOptions(args.name, args.out, json=args.json))
    frame.run(_compared(wanted, frame, args.reuse), find)


def _compared(wanted: Sequence[Scenario], frame: Frame[list[Row]], reuse: bool) -> Generator[list[Row]]:
    ns2.install()
    netsim.build()
    out, table = frame.options.out, list[Row]()
    for scenario in track(wanted, "scenarios", console=frame.console):
        table += (rows := _rows(scenario, out, reuse))
        yield rows
    if len(wanted) == len(list(scenarios())):
        timed = next(scenario for scenario in wanted if scenario.name == "line4-tahoe")
        report.write(table, ns2.seconds(timed, out), netsim.seconds(timed, out), out)


def find(compared: Sequence[Sequence[Row]]) -> Findings:
    table = [row for rows in compared for row in rows]
    form: list[dict[str, Any]] = [report.form(row) for row in table]
    apart = ", ".join(f"{row.scenario.name} {row.flow + 1}" for row in table if row.exact.differs)
    shown = [
        _shown(report.HEADINGS, [report.cells(row) for row in table]),
        _shown(report.LATE_HEADINGS, report.late_cells(table)),
    ]
    failed = f"flows that are not ns-2's: {apart}" if apart else ""
    return Findings({"flows.json": form}, form, shown, failed)


def _rows(scenario: Scenario, out: Path, reuse: bool) -> list[Row]:
    theirs = ns2.run(scenario, out, reuse=reuse)
    ours = netsim.run(scenario, out, reuse=reuse)
    found = pairs(scenario, theirs, ours)
    first, exact = _exact(scenario, theirs, out, reuse)
    late: list[Pair | None] = [None] * len(found)
    if any(pair.differs for pair in found):
        late = list(pairs(scenario, netsim.exact(scenario, out, "departures", reuse=reuse), ours))
    return [
        Row(scenario, index, exact[index], first, found[index], late[index]) for index in range(len(found))
    ]


def _exact(scenario: Scenario, theirs: Path, out: Path, reuse: bool) -> tuple[str, list[Pair]]:
    """The exact line, with ties as in ns-2: arrivals first, unless floating-point time reverses them."""
    tried: list[tuple[str, list[Pair]]] = []
    for first in ("arrivals", "departures"):
        found = pairs(scenario, theirs, netsim.exact(scenario, out, first, reuse=reuse))
        tried.append((first, found))
        if all(pair.apart < 0.01 for pair in found):
            break
    return min(tried, key=lambda one: sum(pair.apart for pair in one[1]))


def _shown(headings: tuple[str, ...], lines: list[list[str]]) -> Table:
    shown = Table(*headings)
    for line in lines:
        shown.add_row(*line)
    return shown


EXPERIMENT = Experiment(
    "netsim's TCP beside that of ns-2, which this installs; some ten minutes", run, add_options=add_options
)
