"""`groupflow validate [SCENARIO...]`: prints and writes docs/results/validation.md's tables."""

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from rich.progress import track
from rich.table import Table

from experiments.validate import compare, netsim, ns2
from experiments.validate.compare import Pair, Row, pairs
from experiments.validate.scenarios import Scenario, scenarios
from groupflow.study.experiment import Experiment, Findings, Frame, Study, always


def measure(frame: Frame[list[Row]]) -> Generator[list[Row]]:
    """All scenarios together also write their tables."""
    ns2.install()
    netsim.build()
    wanted, out, table = frame.runs, frame.options.out, list[Row]()
    for scenario in track(wanted, "scenarios", console=frame.console):
        table += (rows := _rows(scenario, out))
        yield rows
    if len(wanted) == len(frame.experiment.studies):
        timed = next(scenario for scenario in wanted if scenario.name == "line4-tahoe")
        compare.write(table, ns2.seconds(timed, out), netsim.seconds(timed, out), out)


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
    theirs = ns2.run(scenario, out)
    ours = netsim.run(scenario, out)
    found = pairs(scenario, theirs, ours)
    first, exact = _exact(scenario, theirs, out)
    late: list[Pair | None] = [None] * len(found)
    if any(pair.differs for pair in found):
        late = list(pairs(scenario, netsim.exact(scenario, out, "departures"), ours))
    return [
        Row(scenario, index, exact[index], first, found[index], late[index]) for index in range(len(found))
    ]


def _exact(scenario: Scenario, theirs: Path, out: Path) -> tuple[str, list[Pair]]:
    """The exact line, with ties as in ns-2: arrivals first, unless floating-point time reverses them."""
    tried: list[tuple[str, list[Pair]]] = []
    for first in ("arrivals", "departures"):
        found = pairs(scenario, theirs, netsim.exact(scenario, out, first))
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
