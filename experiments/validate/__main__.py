"""`python -m experiments.validate`: runs both, prints a table and writes it into docs/validation.md."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from experiments.validate import netsim, ns2, report
from experiments.validate.compare import Row, rows
from experiments.validate.scenarios import Scenario, scenarios

_OUT = Path("out/validate")


def main() -> int:
    """Exit code 1 where something differs by more than the limit."""
    console = Console()
    _OUT.mkdir(parents=True, exist_ok=True)
    ns2.install()
    netsim.build()
    wanted = [scenario for scenario in scenarios() if _wanted(scenario, sys.argv[1:])]
    table: list[Row] = []
    with Progress(console=console) as progress:
        for scenario in progress.track(wanted, description="scenarios"):
            theirs = ns2.run(scenario, _OUT)
            ours, _ = netsim.run(scenario, _OUT)
            table += rows(scenario, theirs, ours)
    console.print(_shown(table))
    if len(wanted) == len(scenarios()):
        timed = next(scenario for scenario in wanted if scenario.name == "line4-tahoe")
        report.write(table, ns2.seconds(timed, _OUT), netsim.run(timed, _OUT)[1])
    apart = [row for row in table if row.explain]
    for row in apart:
        console.print(f"validate: {row.scenario.name}, flow {row.flow} differs by more than 5 %", style="red")
    return 1 if apart else 0


def _wanted(scenario: Scenario, prefixes: list[str]) -> bool:
    return not prefixes or any(scenario.name.startswith(prefix) for prefix in prefixes)


def _shown(table: list[Row]) -> Table:
    shown = Table(*report.HEADINGS)
    for row in table:
        shown.add_row(*report.cells(row))
    return shown


if __name__ == "__main__":
    sys.exit(main())
