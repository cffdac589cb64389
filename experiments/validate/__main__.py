"""`python -m experiments.validate [SCENARIO...]`: runs everything, prints a table, writes it into docs/validation.md."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from experiments.validate import netsim, ns2, report
from experiments.validate.compare import Pair, Row, pairs
from experiments.validate.scenarios import Scenario, scenarios

_OUT = Path("out/validate")


def main() -> int:
    """Exit code 1 where the endpoints, on exact time, are not ns-2's."""
    console = Console()
    _OUT.mkdir(parents=True, exist_ok=True)
    ns2.install()
    netsim.build()
    wanted = [scenario for scenario in scenarios() if _wanted(scenario, sys.argv[1:])]
    table: list[Row] = []
    with Progress(console=console) as progress:
        for scenario in progress.track(wanted, description="scenarios"):
            table += _rows(scenario)
    console.print(_shown(table))
    if len(wanted) == len(scenarios()):
        timed = next(scenario for scenario in wanted if scenario.name == "line4-tahoe")
        report.write(table, ns2.seconds(timed, _OUT), netsim.run(timed, _OUT)[1])
    apart = [row for row in table if row.exact.differs]
    for row in apart:
        console.print(f"validate: {row.scenario.name}, flow {row.flow + 1} is not ns-2's", style="red")
    return 1 if apart else 0


def _rows(scenario: Scenario) -> list[Row]:
    theirs = ns2.run(scenario, _OUT)
    ours = pairs(scenario, theirs, netsim.run(scenario, _OUT)[0])
    first, exact = _exact(scenario, theirs)
    return [Row(scenario, index, exact[index], first, ours[index]) for index in range(len(ours))]


def _exact(scenario: Scenario, theirs: Path) -> tuple[str, list[Pair]]:
    """The exact line as ns-2 breaks ties: arrivals first; departures, where its floating-point time has them so."""
    tried: list[tuple[str, list[Pair]]] = []
    for first in ("arrivals", "departures"):
        found = pairs(scenario, theirs, netsim.exact(scenario, _OUT, first))
        tried.append((first, found))
        if all(pair.equal == len(pair.ns2.samples) for pair in found):
            break
    return min(tried, key=lambda one: sum(pair.apart for pair in one[1]))


def _wanted(scenario: Scenario, prefixes: list[str]) -> bool:
    return not prefixes or any(scenario.name.startswith(prefix) for prefix in prefixes)


def _shown(table: list[Row]) -> Table:
    shown = Table(*report.HEADINGS)
    for row in table:
        shown.add_row(*report.cells(row))
    return shown


if __name__ == "__main__":
    sys.exit(main())
