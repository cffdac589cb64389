"""`groupflow experiment`, and those experiments that are commands of their own: all stand in the checkout's
`experiments`, and tell their line and options themselves."""

import argparse
import os
from collections.abc import Collection
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Never

from groupflow.cli import command, values
from groupflow.study import checkout
from groupflow.study.errors import RefusedError, StoppedError, StudyError
from groupflow.study.options import ExperimentOptions

if TYPE_CHECKING:
    from groupflow.study.experiment import Experiment


def register(subparsers: command.Subparsers) -> None:
    experiment = command.add_command(
        subparsers, "experiment", "run an experiment on a real network under Mininet (root)",
        example="sudo .venv/bin/groupflow experiment diffusion --quick",
    )  # fmt: skip
    experiment.later = _add_all
    for name, summary, example in (
        ("demo", "send a file to a whole group, and to compare, over TCP (root)", "--members 3 --loss 1%"),
        ("bench", "measure how fast switches, agents and netsim are on this machine", "split tree"),
        ("validate", "compare netsim's TCP with that of ns-2", "line4 --reuse"),
    ):
        parser = command.add_command(subparsers, name, summary, example=f"groupflow {name} {example}")
        parser.later = partial(_add_one, name)


def studying() -> AbstractContextManager[None]:
    """Tells a StudyError as the command's error."""
    return command.failing_with(StudyError, code=_code)


def _code(error: Exception) -> int:
    if isinstance(error, StoppedError):
        return command.INTERRUPTED
    return command.REFUSED if isinstance(error, RefusedError) else command.FAILURE


def _add_all(parser: command.Parser) -> None:
    subparsers = parser.add_subparsers(metavar="EXPERIMENT", required=True, parser_class=command.Parser)
    with studying():
        parser.found = checkout.experiment_names()
    for name in parser.found:
        try:
            experiment = checkout.load_experiment(name)
        except Exception as error:  # noqa: BLE001 (a mistake in one does not hide the others)
            subparsers.add_parser(name, help=_literal(error)).later = partial(_refuse, str(error))
            continue
        one = subparsers.add_parser(
            name, help=_literal(experiment.about), description=_literal(experiment.about)
        )
        _add_options(one, name, experiment)


def _add_one(name: str, parser: command.Parser) -> None:
    with studying():
        _add_options(parser, name, checkout.load_experiment(name))


def _refuse(error: str, _: command.Parser) -> Never:
    raise command.CommandError(error)


def _literal(text: object) -> str:
    return str(text).replace("%", "%%")


def _add_options(parser: command.Parser, name: str, experiment: "Experiment") -> None:
    if experiment.add_options is not None:
        experiment.add_options(parser)
        add_output(parser)
    else:
        add_choice(parser, experiment.scenarios, experiment.studies)
        add_options(parser)
        if experiment.on_bmv2:
            about = "bmv2: at a rate that it can do, with gfswitch beside it (default: %(default)s)"
            parser.add_argument("--switch", choices=("gfswitch", "bmv2"), default="gfswitch", help=about)
    parser.set_defaults(run=partial(_run, experiment), name=name)


def add_choice(
    parser: command.Parser, scenarios: Collection[str] | None = None, studies: Collection[str] | None = None
) -> None:
    """Options that choose scenarios and studies; several may be named. None: all papers have some."""
    chosen = (("--scenario", "the paper's", scenarios), ("--study", "those beyond it", studies))
    for option, whose, names in chosen:
        if names is None or names:
            listed = whose if names is None else ", ".join(names)
            parser.add_argument(
                option, action="append", default=[], metavar="NAME", help=f"one of {listed}; may be repeated"
            )


def add_jobs(parser: command.Parser) -> None:
    cores = os.cpu_count() or 1
    parser.add_argument("--jobs", type=values.count, default=cores, help="at once (default: all cores)")


def add_dask(parser: command.Parser) -> None:
    help = "scheduler of dask, whose workers run the simulations, instead of --jobs"
    parser.add_argument("--dask", metavar="ADDRESS", help=help)


def add_options(parser: command.Parser) -> None:
    """Adds the options that papers and experiments share."""
    add_jobs(parser)
    parser.add_argument("--quick", action="store_true", help="short runs, for tests; no verdict")
    parser.add_argument("--seed", type=int, default=1, help="of everything random (default: 1)")
    add_output(parser)


def add_output(parser: command.Parser) -> None:
    parser.add_argument("--out", type=Path, help="folder for data and figures (default: in ./out)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def options(args: argparse.Namespace, out: Path) -> ExperimentOptions:
    """The options of the command line; `out` is the folder where none was named."""
    return ExperimentOptions(
        name=args.name,
        out=args.out or out,
        scenarios=tuple(getattr(args, "scenario", ())),
        studies=tuple(getattr(args, "study", ())),
        quick=args.quick,
        jobs=args.jobs,
        dask=getattr(args, "dask", None),
        seed=args.seed,
        switch=getattr(args, "switch", "gfswitch"),
        json=args.json,
    )


def _run(experiment: "Experiment", args: argparse.Namespace) -> int:
    if experiment.add_options:
        args.out = args.out or Path("out") / args.name
    asked = args if experiment.add_options else options(args, Path("out/experiment") / args.name)
    with studying(), command.failing_with(OSError):  # a broken pipe is that of a program, not of our reader
        experiment.run(asked)
    return command.OK
