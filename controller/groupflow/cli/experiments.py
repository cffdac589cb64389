"""`groupflow experiment`: experiments on a real network, which stand in the checkout's `experiments`."""

import argparse
import os
from pathlib import Path

from groupflow.cli.command import USAGE, CommandError, Parser, Subparsers, add_command, failing_with
from groupflow.study import checkout
from groupflow.study.errors import StudyError
from groupflow.study.options import ExperimentOptions

EXPERIMENTS = {
    "bone": "files to three caches in rounds, over a satellite link between P4 switches",
    "diffusion": "diffusion-type flow control and kernel TCP on six switches in a line",
    "edges": "an edge of a clustered tree over TCP, QUIC and datagrams, under losses",
    "gather": "receiver-side tuning and kernel TCP, in the network of sakajiri",
    "fec": "latency of a gathered stream with and without erasure coding, under loss and stalls",
    "nats": "one publisher and twenty subscribers, by a clustered tree and by nats-server",
    "split": "split agents over kernel TCP, in the network of icn2011",
    "tree": "a clustered tree of hosts, of which some are killed",
}

IN_PARTS = ("gather",)
"""experiments of which parts can be chosen"""


def register(subparsers: Subparsers) -> None:
    experiment = add_command(
        subparsers,
        "experiment",
        "run an experiment on a real network under Mininet (root)",
        example="sudo groupflow experiment diffusion --quick",
    )
    listed = "; ".join(f"{name}: {what}" for name, what in EXPERIMENTS.items())
    experiment.add_argument("name", metavar="EXPERIMENT", choices=sorted(EXPERIMENTS), help=listed)
    add_options(experiment, "gather's")
    experiment.set_defaults(run=_run)


def add_options(parser: Parser, whose: str) -> None:
    """Those that papers and experiments share; of scenarios and studies several may be named."""
    parser.add_argument(
        "--scenario", action="append", default=[], metavar="NAME", help=f"one of {whose}; may be repeated"
    )
    parser.add_argument(
        "--study", action="append", default=[], metavar="NAME", help="one beyond the paper; may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="short runs, for tests; no verdict")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at once (default: all cores)")
    parser.add_argument("--seed", type=int, default=1, help="of everything random (default: 1)")
    parser.add_argument("--out", type=Path, help="folder for data and figures")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def options(args: argparse.Namespace, out: Path) -> ExperimentOptions:
    """The options of the command line; `out` is the folder where none was named. Raises CommandError."""
    if args.jobs < 1:
        raise CommandError(f"--jobs {args.jobs}: at least 1 is needed", USAGE)
    return ExperimentOptions(
        name=args.name,
        out=args.out or out,
        scenarios=tuple(args.scenario),
        studies=tuple(args.study),
        quick=args.quick,
        jobs=args.jobs,
        seed=args.seed,
        json=args.json,
    )


def _run(args: argparse.Namespace) -> int:
    for option, names in (("--scenario", args.scenario), ("--study", args.study)):
        if names and args.name not in IN_PARTS:
            raise CommandError(f"{option} {names[0]}: {args.name} is run as a whole; leave it out", USAGE)
    asked = options(args, Path("out/experiment") / args.name)
    with failing_with(StudyError):
        experiment = checkout.load("experiments", f"{args.name}.run")
    return experiment.run(asked)
