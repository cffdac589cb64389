"""`groupflow demo`, which `make demo` runs."""

import logging
import os
import signal
from argparse import Namespace
from collections.abc import Sequence

from rich.text import Text

from experiments.demo import page
from experiments.demo.options import DEFAULT_LOSS, Options, add_options, read
from experiments.demo.pace import measure
from experiments.demo.progress import result_table
from experiments.demo.results import Report
from groupflow.lab import kernel_link
from groupflow.model.topology import Topology
from groupflow.study.errors import RefusedError, StudyError
from groupflow.study.experiment import Experiment, Findings, Frame
from groupflow.study.options import ExperimentOptions


def run(args: Namespace) -> None:
    options = read(args)
    check(options)
    logging.basicConfig(level=logging.WARNING, format="demo: %(message)s")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: everything is taken down
    frame = Frame[tuple[Report, Topology]](ExperimentOptions(args.name, options.out, json=args.json))
    frame.run(measure(options, frame.console), lambda done: find(options, done))


def check(options: Options) -> None:
    """Raises StudyError where the demo cannot start."""
    if options.file is not None and not options.file.is_file():
        problem = "not a regular file" if options.file.exists() else "no such file"
        raise RefusedError(f"{options.file}: {problem}; set FILE to a file")
    if options.file is not None and options.file.stat().st_size == 0:
        raise RefusedError(f"{options.file}: is empty; set FILE to a file that has content")
    if options.switch == "bmv2" and options.delay_ns is not None:
        raise RefusedError("BMv2 does not emulate links; leave DELAY out, or use SWITCH=gfswitch")
    if options.loss not in (0, DEFAULT_LOSS) and options.loss not in options.losses:
        raise StudyError(kernel_link.ABSENT)
    if os.geteuid() != 0:
        raise StudyError("root is needed to make network namespaces; use sudo")


def find(options: Options, done: Sequence[tuple[Report, Topology]]) -> Findings:
    """The last report has all the runs that it is about."""
    report, topology = done[-1]
    file, form = options.out / "report.html", report.to_json()
    file.write_text(page.render(report, topology), encoding="utf-8")
    shown = [result_table(report), Text(f"report: {file}", overflow="ignore", no_wrap=True)]
    return Findings({"report.json": form}, form, shown, failed="; ".join(report.problems()))


EXPERIMENT = Experiment(
    "a file to a whole group over Fig. 5 of the split connection paper and over TCP, without loss and with",
    run,
    add_options=add_options,
)
