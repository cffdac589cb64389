"""`python -m experiments.demo`: the program behind `make demo`."""

import json
import logging
import os
import signal
import sys
from collections.abc import Sequence

from rich.console import Console

from experiments.common.frame import ERRORS
from experiments.demo import page
from experiments.demo.baseline import BaselineError
from experiments.demo.options import Options, parse
from experiments.demo.pace import measure
from experiments.demo.progress import print_tables
from experiments.demo.results import Report
from experiments.demo.scenario import DemoError, Scenario
from groupflow.cli.command import FAILURE, INTERRUPTED, OK
from groupflow.endpoint.events import EventError
from groupflow.lab.measure import MeasureError

FAILURES = (*ERRORS, DemoError, BaselineError, MeasureError, EventError)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    problem = check(options)
    if problem:
        return fail([problem])
    logging.basicConfig(level=logging.WARNING, format="demo: %(message)s")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: everything is taken down
    console = Console(highlight=False)
    try:
        report, scenario = measure(options, console)
    except KeyboardInterrupt:
        print("demo: interrupted; everything it started has ended", file=sys.stderr)
        return INTERRUPTED
    except FAILURES as error:
        return fail([str(error)])
    write(report, scenario)
    print_tables(console, report)
    console.print(f"report: {options.out / 'report.html'}", markup=False, soft_wrap=True)
    return fail(report.problems())


def check(options: Options) -> str | None:
    """The reason why the demo cannot start, in one line; None: it can."""
    if options.file is not None and not options.file.is_file():
        problem = "not a regular file" if options.file.exists() else "no such file"
        return f"{options.file}: {problem}; set FILE to a file"
    if options.file is not None and options.file.stat().st_size == 0:
        return f"{options.file}: is empty; set FILE to a file that has content"
    if options.switch == "bmv2" and (options.loss or options.delay_ns is not None):
        return "BMv2 does not emulate links; leave LOSS and DELAY out, or use SWITCH=gfswitch"
    if os.geteuid() != 0:
        return "root is needed to make network namespaces; use sudo make demo"
    return None


def fail(problems: Sequence[str]) -> int:
    for problem in problems:
        print(f"demo: {problem}", file=sys.stderr)
    return FAILURE if problems else OK


def write(report: Report, scenario: Scenario) -> None:
    out = scenario.options.out
    text = json.dumps(report.to_json(), indent=1)
    (out / "report.json").write_text(text + "\n", encoding="utf-8")
    (out / "report.html").write_text(page.render(report, scenario.topology), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
