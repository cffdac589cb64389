"""The links' rate on a machine that is too slow: the demo runs again at half of it, and says so."""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace

from rich.console import Console

from experiments.demo.options import Options
from experiments.demo.results import Report
from experiments.demo.scenario import Scenario
from groupflow import units
from groupflow.model.topology import Topology

ATTEMPTS = 3
"""number of runs at most: at the topology's rate, at half and at a quarter of it"""


def measure(
    options: Options, console: Console, new: Callable[[Options, Console], Scenario] = Scenario
) -> Generator[tuple[Report, Topology]]:
    """The report after each run, until its figures can be trusted, and the network. A rate given by the user
    is kept. Raises the errors of `Scenario.run`."""
    kept = options.rate is not None or options.switch != "gfswitch"
    notes: tuple[str, ...] = ()
    for left in reversed(range(1 if kept else ATTEMPTS)):
        scenario, tried = new(options, console), 0
        with closing(scenario.run()) as reports:
            for report in reports:
                if report.cpu_bound and left:
                    tried = report.parameters.rate_bps
                    break
                yield replace(report, notes=(*report.notes, *notes)), scenario.topology
        if not tried:
            return
        notes = (
            f"Links of {units.format_rate(tried // 2)}: at {units.format_rate(tried)} the machine was too "
            "busy for the switches to keep their schedule.",
        )
        console.print(f"CPU-bound: {notes[0]}", markup=False, soft_wrap=True)
        options = replace(options, rate=tried // 2)
