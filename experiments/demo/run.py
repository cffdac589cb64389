"""`groupflow demo`, which `make demo` runs; at half the rate again where the machine is too slow."""

import logging
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TypeAlias

from rich.console import Console
from rich.text import Text

from experiments.demo import page
from experiments.demo.options import DEFAULT_LOSS, Options
from experiments.demo.progress import result_table
from experiments.demo.results import Report
from experiments.demo.scenario import Scenario
from groupflow import units
from groupflow.lab import kernel_link
from groupflow.lab.network import check_rights
from groupflow.model.topology import Topology
from groupflow.study import RefusedError, StudyError
from groupflow.study.experiment import Experiment, Findings, Frame, Study, always

ATTEMPTS = 3
"""number of runs at most: at the topology's rate, at half and at a quarter of it"""


def paced(
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


Done: TypeAlias = tuple[Report, Topology]


def measure(frame: Frame[Done]) -> Generator[Done]:
    options = frame.options
    assert isinstance(options, Options)
    check(options)
    logging.basicConfig(level=logging.WARNING, format="demo: %(message)s")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: everything is taken down
    yield from paced(options, frame.console)


def check(options: Options) -> None:
    """Raises StudyError, or Error, where the demo cannot start."""
    if options.file is not None and not options.file.is_file():
        problem = "not a regular file" if options.file.exists() else "no such file"
        raise RefusedError(f"{options.file}: {problem}; name a file with --file")
    if options.file is not None and options.file.stat().st_size == 0:
        raise RefusedError(f"{options.file}: is empty; name a file that has content")
    if options.switch == "bmv2" and options.delay_ns is not None:
        raise RefusedError("BMv2 does not emulate links; leave --delay out, or use --switch gfswitch")
    if options.loss not in (0, DEFAULT_LOSS) and options.loss not in options.losses:
        raise StudyError(kernel_link.ABSENT)
    check_rights()


def find(frame: Frame[Done], done: Sequence[Done]) -> Findings:
    """The last report has all the runs that it is about."""
    report, topology = done[-1]
    file, form = frame.options.out / "report.html", report.to_json()
    file.write_text(page.render(report, topology), encoding="utf-8")
    shown = [result_table(report), Text(f"report: {file}", overflow="ignore", no_wrap=True)]
    return Findings({"report.json": form}, form, shown, failed="; ".join(report.problems()))


EXPERIMENT = Experiment(
    "a file to a whole group over Fig. 5 of the split connection paper and over TCP, without loss and with",
    [Study("demo", "one network, without loss and with", always("demo"))],
    takes=(),
    measure=measure,
    find=find,
    options=Options,
)
