"""Runs the scenarios in ns-2 and in netsim; prints and writes docs/results/validation.md's tables.

python -m tests.validation.run [SCENARIO...] [--out FOLDER]
"""

import argparse
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from rich.progress import track
from rich.table import Table

from groupflow.errors import Error
from groupflow.study import frame as study
from groupflow.study.experiment import Experiment, Findings, Frame, Study, StudyOptions, always
from tests.validation import compare, simulators
from tests.validation.compare import Pair, Row, pairs
from tests.validation.scenarios import Scenario, scenarios


def measure(frame: Frame[list[Row]]) -> Generator[list[Row]]:
    """All scenarios together also write their tables."""
    simulators.prepare()
    wanted, out, table = frame.runs, frame.options.out, list[Row]()
    for scenario in track(wanted, "scenarios", console=frame.console):
        table += (rows := _rows(scenario, out))
        yield rows
    if len(wanted) == len(frame.experiment.studies):
        timed = next(scenario for scenario in wanted if scenario.name == "line4-tahoe")
        compare.write(table, *simulators.seconds(timed, out), out)


def find(_: Frame[list[Row]], compared: Sequence[Sequence[Row]]) -> Findings:
    """It fails where the endpoints, on exact time, are not ns-2's."""
    table = [row for rows in compared for row in rows]
    form: list[dict[str, Any]] = [compare.form(row) for row in table]
    apart = ", ".join(f"{row.scenario.name} {row.flow + 1}" for row in table if row.exact.differs)
    shown = [
        _shown(compare.HEADINGS, [compare.cells(row) for row in table]),
        _shown(compare.LATE_HEADINGS, compare.late_cells(table)),
    ]
    failed = f"flows that are not ns-2's: {apart}" if apart else ""
    return Findings({"flows.json": form}, form, shown, failed)


def _rows(scenario: Scenario, out: Path) -> list[Row]:
    theirs, ours = simulators.ns2(scenario, out), simulators.netsim(scenario, out)
    found = pairs(scenario, theirs, ours)
    first, exact = _exact(scenario, theirs, out)
    late: list[Pair | None] = [None] * len(found)
    if any(pair.differs for pair in found):
        late = list(pairs(scenario, simulators.exact(scenario, out, "departures"), ours))
    runs = zip(exact, found, late, strict=True)
    return [Row(scenario, n, line, first, netsim, other) for n, (line, netsim, other) in enumerate(runs)]


def _exact(scenario: Scenario, theirs: Path, out: Path) -> tuple[str, list[Pair]]:
    """The exact line, with ties as in ns-2: arrivals first, unless floating-point time reverses them."""
    tried: list[tuple[str, list[Pair]]] = []
    for first in ("arrivals", "departures"):
        found = pairs(scenario, theirs, simulators.exact(scenario, out, first))
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
    "netsim's TCP beside that of ns-2, which this installs; some ten minutes",
    [Study(each.name, each.title, always(each)) for each in scenarios()],
    takes=("only",),
    measure=measure,
    find=find,
)


def main(words: Sequence[str]) -> None:
    """Ends the process with a line where a scenario is unknown, or a flow is not ns-2's."""
    parser = argparse.ArgumentParser(description="Compares netsim's TCP with that of ns-2.")
    known = ", ".join(each.name for each in scenarios())
    parser.add_argument("only", metavar="SCENARIO", nargs="*", help=f"any of {known} (default: all)")
    parser.add_argument("--out", type=Path, default=Path("out/validate"))
    given = parser.parse_args(words)
    try:
        study.run(EXPERIMENT, StudyOptions(given.out, only=tuple(given.only)))
    except Error as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
