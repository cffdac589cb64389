"""`groupflow experiment`, and those experiments that are commands of their own: all stand in the checkout's
`experiments`, and tell their line and options themselves."""

import argparse
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Never

from groupflow.cli import command, values
from groupflow.network import units
from groupflow.study import checkout
from groupflow.study.errors import RefusedError, StoppedError, StudyError

if TYPE_CHECKING:
    from groupflow.study.experiment import Experiment

OWN = ("demo", "bench", "validate")
"""experiments that are commands of their own"""


def register(subparsers: command.Subparsers) -> None:
    experiment = command.add_command(
        subparsers, "experiment", "run an experiment on a real network under Mininet (root)",
        example="sudo .venv/bin/groupflow experiment diffusion --quick",
    )  # fmt: skip
    experiment.later = _add_all
    for name, summary, example in (
        ("demo", "send a file to a whole group, and to compare, over TCP (root)", "--members 3 --loss 1%"),
        ("bench", "measure how fast switches, agents and netsim are on this machine", "split tree"),
        ("validate", "compare netsim's TCP with that of ns-2", "'line4-*'"),
    ):
        parser = command.add_command(
            subparsers, name, summary, example=f"groupflow {name} {example}".replace("%", "%%")
        )
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
        parser.found = [name for name in checkout.names("experiments") if name not in OWN]
    for name in parser.found:
        try:
            experiment = checkout.load("experiments", name)
        except Exception as error:  # noqa: BLE001 (a mistake in one does not hide the others)
            subparsers.add_parser(name, help=_literal(error)).later = partial(_refuse, str(error))
            continue
        about = _literal(experiment.about)
        one = subparsers.add_parser(
            name, help=about, description=about, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        add_options(one, experiment.takes)
        one.epilog = _literal("\n".join(listed(experiment))) if "only" in experiment.takes else None
        one.set_defaults(run=partial(_run, experiment, Path("out/experiment") / name))


def _add_one(name: str, parser: command.Parser) -> None:
    with studying():
        experiment = checkout.load("experiments", name)
    if name == "demo":
        _add_demo(parser)
        add_options(parser, ())
    else:
        what = "part" if name == "bench" else "scenario"
        ids = ", ".join(id for study in experiment.studies for id in study.ids)
        parser.add_argument("only", nargs="*", metavar=what.upper(), help=f"of {ids} (default: all)")
        add_options(parser, ())
    parser.set_defaults(run=partial(_run, experiment, Path("out") / name))


def _refuse(error: str, _: command.Parser) -> Never:
    raise command.CommandError(error)


def _literal(text: object) -> str:
    return str(text).replace("%", "%%")


def add_options(parser: command.Parser, takes: Iterable[str]) -> None:
    """The options that an experiment takes, and those that all take."""
    add = parser.add_argument
    options = {
        "only": lambda: add(
            "--only", action="append", default=[], metavar="ID",
            help="one of those below, in whose name * stands for any text; may be repeated",
        ),
        "quick": lambda: add("--quick", action="store_true", help="short runs, for tests; no verdict"),
        "seed": lambda: add("--seed", type=int, default=1, help="the first of all seeds (default: 1)"),
        "jobs": lambda: add("--jobs", type=values.count, help="runs at one time (default: one a core)"),
        "dask": lambda: add(
            "--dask", metavar="ADDRESS",
            help="scheduler of dask, whose workers run the simulations, instead of --jobs",
        ),
        "switch": lambda: add(
            "--switch", choices=("gfswitch", "bmv2"), default="gfswitch",
            help="bmv2: at a rate that it can do, with gfswitch beside it (default: %(default)s)",
        ),
    }  # fmt: skip
    for name in takes:
        options[name]()
    add("--out", type=Path, help="folder for data and figures (default: in ./out)")
    add("--json", action="store_true", help="print the result as JSON")


def listed(experiment: "Experiment") -> Sequence[str]:
    """The studies under two headings: run where none is named, and run only where named."""
    default = experiment.by_default(quick=False)
    lines: list[str] = []
    for heading, there in (("run where none is named", True), ("run where it is named", False)):
        found = [study for study in experiment.studies if (study in default) is there]
        lines += [f"    {heading}:"] if found else []
        lines += [f"      {', '.join(study.ids):<25} {study.about}" for study in found]
    return lines


def _add_demo(parser: command.Parser) -> None:
    """Each run takes about as long as the file at the links' rate, and up to half a minute for TCP."""
    add = parser.add_argument
    add("--file", type=Path, help="file to send (default: 64 MiB of random bytes)")
    add("--size", type=_size, default=64 << 20, help="random bytes to send, e.g. 16MiB")
    add("--members", type=_members, default=5, help="members of each network: 1 to 5")
    add(
        "--loss", type=values.value(units.parse_loss), default=units.PARTS // 100,
        help="loss of every link in the second run, e.g. 0.01 or 1%% (default: 1%%); 0: no second run",
    )  # fmt: skip
    add("--mode", choices=("e2e", "n2n"), default="e2e", help="acknowledge at receivers, or at caches")
    slow = "treatment of a slow receiver"
    add("--policy", choices=("strict", "isolate"), default="strict", help=slow)
    add("--switch", choices=("gfswitch", "bmv2"), default="gfswitch", help="(default: %(default)s)")
    add("--rate", type=_rate, help="rate of every link, e.g. 50mbit (a bare number: Mbit/s)")
    delay = "delay between the split agents, e.g. 50ms (a bare number: ms)"
    add("--delay", dest="delay_ns", type=_delay, help=delay)
    add("--no-baseline", dest="baseline", action="store_false", help="leave TCP out")


def _members(text: str) -> int:
    if text not in ("1", "2", "3", "4", "5"):
        raise argparse.ArgumentTypeError(f"{text!r} will not do; write a number from 1 to 5")
    return int(text)


def _rate(text: str) -> int:
    return values.rate(f"{text}mbit" if _is_bare(text) else text)


def _delay(text: str) -> int:
    return values.value(units.parse_delay)(f"{text}ms" if _is_bare(text) else text)


def _size(text: str) -> int:
    size = values.size(text)
    if size == 0:
        raise argparse.ArgumentTypeError("'0' is no size of a file to send; write 1 or more")
    return size


def _is_bare(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _run(experiment: "Experiment", out: Path, args: argparse.Namespace) -> int:
    run(experiment, args, out)
    return command.OK


def run(experiment: "Experiment", args: argparse.Namespace, out: Path) -> None:
    """Runs it with the options of the command line; `out` is the folder where none was named."""
    from groupflow.study import frame

    given = {"out": args.out or out, "only": tuple(getattr(args, "only", ()))}
    with studying(), command.failing_with(OSError):  # a broken pipe is that of a program, not of our reader
        frame.run(experiment, values.options(experiment.options, args, **given))
