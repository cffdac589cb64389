"""`groupflow reproduce` and `groupflow experiment`: the papers in netsim, and small ones on a real network.

The experiments are in the checkout's `experiments` folder, beside this package, not in it.
"""

import argparse
import os
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from groupflow.cli.command import USAGE, CommandError, Parser, Subparsers, add_command

PAPERS = {
    "amcb": "round multicast between caches over a satellite link (Adaptive Multicasting Cache Bone)",
    "cmt": "socket buffers and parallel connections of the clustered multicast tree (Cui et al.)",
    "sakajiri": "receiver-side tuning on a server that gathers (Sakajiri et al.)",
    "icn2011": "split connections for group communication (Emina et al. 2011)",
    "takano": "diffusion-type flow control and TCP (Takano et al. 2006)",
}
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

_CHECKOUT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class ExperimentOptions:
    """What every reproduction and experiment is asked with."""

    name: str
    out: Path
    scenarios: tuple[str, ...] = ()
    """of the paper"""
    studies: tuple[str, ...] = ()
    """beyond the paper; where neither scenarios nor studies are named, the paper's `run` says what is run"""
    quick: bool = False
    """the short variant that shows the same, for tests"""
    jobs: int = 1
    seed: int = 1
    json: bool = False
    """print the result for machines instead of a table"""


class _Experiment(Protocol):
    def run(self, options: ExperimentOptions) -> int: ...


def register(subparsers: Subparsers) -> None:
    reproduce = add_command(
        subparsers,
        "reproduce",
        "reproduce a paper in netsim and compare it with what it claims",
        example="groupflow reproduce takano --scenario 2 --scenario 4V --jobs 2",
    )
    _add_name(reproduce, "PAPER", PAPERS)
    _add_parts(reproduce, "the paper's")
    _add_common(reproduce)
    reproduce.set_defaults(run=_run_reproduction)
    experiment = add_command(
        subparsers,
        "experiment",
        "run an experiment on a real network under Mininet (root)",
        example="sudo groupflow experiment diffusion --quick",
    )
    _add_name(experiment, "EXPERIMENT", EXPERIMENTS)
    _add_parts(experiment, "gather's")
    _add_common(experiment)
    experiment.set_defaults(run=_run_experiment)


def _add_name(parser: Parser, metavar: str, names: dict[str, str]) -> None:
    listed = "; ".join(f"{name}: {what}" for name, what in names.items())
    parser.add_argument("name", metavar=metavar, choices=sorted(names), help=listed)


def _add_parts(parser: Parser, whose: str) -> None:
    """What to run of it; several may be named."""
    parser.add_argument(
        "--scenario", action="append", default=[], metavar="NAME", help=f"one of {whose}; may be repeated"
    )
    parser.add_argument(
        "--study", action="append", default=[], metavar="NAME", help="one beyond the paper; may be repeated"
    )


def _add_common(parser: Parser) -> None:
    parser.add_argument("--quick", action="store_true", help="a short variant, for tests")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at once (default: all cores)")
    parser.add_argument("--seed", type=int, default=1, help="of everything random (default: 1)")
    parser.add_argument("--out", type=Path, help="folder for data and figures")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _run_reproduction(args: argparse.Namespace) -> int:
    return _run(f"experiments.{args.name}.run", Path("out/reproduce") / args.name, args)


def _run_experiment(args: argparse.Namespace) -> int:
    for option, names in (("--scenario", args.scenario), ("--study", args.study)):
        if names and args.name not in IN_PARTS:
            raise CommandError(f"{option} {names[0]}: {args.name} is run as a whole; leave it out", USAGE)
    return _run(f"experiments.{args.name}.run", Path("out/experiment") / args.name, args)


def _run(module: str, out: Path, args: argparse.Namespace) -> int:
    if args.jobs < 1:
        raise CommandError(f"--jobs {args.jobs}: at least 1 is needed", USAGE)
    options = ExperimentOptions(
        name=args.name,
        out=args.out or out,
        scenarios=tuple(args.scenario),
        studies=tuple(args.study),
        quick=args.quick,
        jobs=args.jobs,
        seed=args.seed,
        json=args.json,
    )
    return _load(module).run(options)


def _load(module: str) -> _Experiment:
    if not (_CHECKOUT / "experiments").is_dir():
        raise CommandError("experiments are not installed with the package: run this from a checkout")
    if str(_CHECKOUT) not in sys.path:
        sys.path.append(str(_CHECKOUT))
    return cast(_Experiment, import_module(module))
