"""`python -m experiments.demo`: the program behind `make demo`."""

import json
import logging
import os
import signal
from argparse import Namespace

from rich.console import Console

from experiments.demo import page
from experiments.demo.baseline import BaselineError
from experiments.demo.options import DEFAULT_LOSS, Options, add_options, read
from experiments.demo.pace import measure
from experiments.demo.progress import print_table
from experiments.demo.results import Report
from experiments.demo.scenario import DemoError, Scenario
from groupflow.endpoint.events import EventError
from groupflow.lab import kernel_link
from groupflow.lab.measure import MeasureError
from groupflow.lab.transfer import TransferError
from groupflow.study.errors import StoppedError, StudyError
from groupflow.study.experiment import ERRORS, Experiment

FAILURES = (*ERRORS, DemoError, TransferError, BaselineError, MeasureError, EventError)


def run(args: Namespace) -> None:
    options = read(args)
    if problem := check(options):
        raise StudyError(problem)
    logging.basicConfig(level=logging.WARNING, format="demo: %(message)s")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: everything is taken down
    console = Console(highlight=False)
    try:
        report, scenario = measure(options, console)
    except KeyboardInterrupt:
        raise StoppedError("interrupted; everything the demo started has ended") from None
    except FAILURES as error:
        raise StudyError(str(error)) from error
    write(report, scenario)
    print_table(console, report)
    console.print(f"report: {options.out / 'report.html'}", markup=False, soft_wrap=True)
    if problems := report.problems():
        raise StudyError("; ".join(problems))


def check(options: Options) -> str | None:
    """The reason why the demo cannot start, in one line; None: it can."""
    if options.file is not None and not options.file.is_file():
        problem = "not a regular file" if options.file.exists() else "no such file"
        return f"{options.file}: {problem}; set FILE to a file"
    if options.file is not None and options.file.stat().st_size == 0:
        return f"{options.file}: is empty; set FILE to a file that has content"
    if options.switch == "bmv2" and options.delay_ns is not None:
        return "BMv2 does not emulate links; leave DELAY out, or use SWITCH=gfswitch"
    if options.loss not in (0, DEFAULT_LOSS) and options.loss not in options.losses:
        return f"no {kernel_link.PROGRAM} on PATH, which loses frames for BMv2; install nftables"
    if os.geteuid() != 0:
        return "root is needed to make network namespaces; use sudo"
    return None


def write(report: Report, scenario: Scenario) -> None:
    out = scenario.options.out
    text = json.dumps(report.to_json(), indent=1)
    (out / "report.json").write_text(text + "\n", encoding="utf-8")
    (out / "report.html").write_text(page.render(report, scenario.topology), encoding="utf-8")


EXPERIMENT = Experiment(
    "a file to a whole group over Fig. 5 of the split connection paper and over TCP, without loss and with",
    run,
    add_options=add_options,
)
