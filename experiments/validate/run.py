"""`groupflow validate [--reuse] [SCENARIO...]`: prints and writes docs/results/validation.md's tables."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from experiments.validate import netsim, ns2, report
from experiments.validate.compare import Pair, Row, pairs
from experiments.validate.scenarios import Scenario, scenarios
from groupflow.study.errors import RefusedError, StudyError
from groupflow.study.experiment import Experiment

_OUT = Path("out/validate")


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="how names begin (default: all)")
    parser.add_argument("--reuse", action="store_true", help="take the runs that are in out/validate")


def run(args: Namespace) -> None:
    """All scenarios renew docs/results/validation.md.

    Raises StudyError where the endpoints, on exact time, are not ns-2's.
    """
    reuse, prefixes = args.reuse, args.scenarios
    wanted = [scenario for scenario in scenarios() if _wanted(scenario, prefixes)]
    if not wanted:
        raise RefusedError(f"no scenario begins so; there are {', '.join(each.name for each in scenarios())}")
    console = Console()
    _OUT.mkdir(parents=True, exist_ok=True)
    ns2.install()
    netsim.build()
    table: list[Row] = []
    with Progress(console=console) as progress:
        for scenario in progress.track(wanted, description="scenarios"):
            table += _rows(scenario, reuse)
    console.print(_shown(report.HEADINGS, [report.cells(row) for row in table]))
    console.print(_shown(report.LATE_HEADINGS, report.late_cells(table)))
    if not prefixes:
        timed = next(scenario for scenario in wanted if scenario.name == "line4-tahoe")
        report.write(table, ns2.seconds(timed, _OUT), netsim.seconds(timed, _OUT))
    if apart := [f"{row.scenario.name} {row.flow + 1}" for row in table if row.exact.differs]:
        raise StudyError(f"flows that are not ns-2's: {', '.join(apart)}")


def _rows(scenario: Scenario, reuse: bool) -> list[Row]:
    theirs = ns2.run(scenario, _OUT, reuse=reuse)
    ours = netsim.run(scenario, _OUT, reuse=reuse)
    found = pairs(scenario, theirs, ours)
    first, exact = _exact(scenario, theirs, reuse)
    late: list[Pair | None] = [None] * len(found)
    if any(pair.differs for pair in found):
        late = list(pairs(scenario, netsim.exact(scenario, _OUT, "departures", reuse=reuse), ours))
    return [
        Row(scenario, index, exact[index], first, found[index], late[index]) for index in range(len(found))
    ]


def _exact(scenario: Scenario, theirs: Path, reuse: bool) -> tuple[str, list[Pair]]:
    """The exact line, with ties as in ns-2: arrivals first, unless floating-point time reverses them."""
    tried: list[tuple[str, list[Pair]]] = []
    for first in ("arrivals", "departures"):
        found = pairs(scenario, theirs, netsim.exact(scenario, _OUT, first, reuse=reuse))
        tried.append((first, found))
        if all(pair.apart < 0.01 for pair in found):
            break
    return min(tried, key=lambda one: sum(pair.apart for pair in one[1]))


def _wanted(scenario: Scenario, prefixes: list[str]) -> bool:
    return not prefixes or any(scenario.name.startswith(prefix) for prefix in prefixes)


def _shown(headings: tuple[str, ...], lines: list[list[str]]) -> Table:
    shown = Table(*headings)
    for line in lines:
        shown.add_row(*line)
    return shown


EXPERIMENT = Experiment(
    "netsim's TCP beside that of ns-2, which this installs; some ten minutes", run, add_options=add_options
)
