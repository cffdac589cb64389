"""`groupflow sweep`: a scenario with many values of its parameters, each with many seeds."""

import argparse
from pathlib import Path

from groupflow.cli import values
from groupflow.cli.command import OK, REFUSED, USAGE, CommandError, Subparsers, add_command, failing_with
from groupflow.cli.experiments import studying


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "sweep", "run a scenario with many values of its parameters and many seeds", _run,
        example="groupflow sweep experiment.yaml --jobs 2",
    )  # fmt: skip
    parser.add_argument("file", type=Path, metavar="EXPERIMENT", help="file of the sweep (YAML)")
    parser.add_argument("--jobs", type=values.count, help="runs at one time (default: one a core)")
    scheduler = "scheduler of dask, whose workers run the simulations, instead of --jobs"
    parser.add_argument("--dask", metavar="ADDRESS", help=scheduler)
    parser.add_argument("--out", type=Path, help="folder for results (default: out/sweep/NAME of the file)")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--again", action="store_true", help="also repeat runs that failed")


def _run(args: argparse.Namespace) -> int:
    """Exit codes: 0: all ran; 1: a run failed or its switches lagged; 4: the file is refused."""
    from groupflow.sim import ScenarioError
    from groupflow.study.experiment import StudyOptions
    from groupflow.study.sweep.form import read
    from groupflow.study.sweep.runs import sweep

    with failing_with(ScenarioError, code=REFUSED):
        asked = read(args.file)
    if asked.form.where == "real" and args.dask:
        raise CommandError("--dask: real networks run on this machine; leave it out", USAGE)
    out = args.out or Path("out/sweep") / args.file.stem
    with studying():
        options = StudyOptions(out, jobs=args.jobs, dask=args.dask, json=args.json)
        sweep(asked, options, again=args.again)
    return OK
