"""The links' rate on a machine that is too slow: the demo runs again at half of it, and says so."""

from collections.abc import Callable
from dataclasses import replace

from rich.console import Console

from experiments.demo.options import Options
from experiments.demo.results import Report
from experiments.demo.scenario import Scenario
from groupflow.network import units

ATTEMPTS = 3
"""number of runs at most: at the topology's rate, at half and at a quarter of it"""


def measure(
    options: Options, console: Console, new: Callable[[Options, Console], Scenario] = Scenario
) -> tuple[Report, Scenario]:
    """The first run whose figures can be trusted, or the last one. A rate given by the user is kept.

    Raises the errors of `Scenario.run`.
    """
    scenario = new(options, console)
    report = scenario.run()
    for _ in range(1, ATTEMPTS):
        if not report.cpu_bound or options.rate is not None or options.switch != "gfswitch":
            break
        tried = report.parameters.rate_bps
        slower = tried // 2
        note = (
            f"Links of {units.format_rate(slower)}: at {units.format_rate(tried)} the machine was too busy "
            "for the switches to keep their schedule."
        )
        console.print(f"CPU-bound: {note}", markup=False, soft_wrap=True)
        scenario = new(replace(options, rate=slower), console)
        report = scenario.run()
        report = replace(report, notes=(*report.notes, note))
    return report, scenario
