"""`groupflow reproduce`: the papers of a checkout in netsim; names and studies are the papers'."""

import argparse
from pathlib import Path

from groupflow.cli.command import OK, REFUSED, CommandError, Subparsers, add_command
from groupflow.cli.experiments import add_options, listed, run, studying
from groupflow.study import checkout
from groupflow.study.errors import StudyError
from groupflow.study.experiment import Experiment


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "reproduce", "reproduce a paper in netsim and compare the result with the paper's claims",
        _run,
        example="groupflow reproduce takano --only figure-8 --only scenario-4V --jobs 2",
    )  # fmt: skip
    parser.add_argument("name", metavar="PAPER", help="one of the papers below")
    add_options(parser, Experiment.takes)
    parser.more = _listed


def _run(args: argparse.Namespace) -> int:
    """Exit code 0 when every run finished, whether the claims hold or not: the claims are the result."""
    with studying():
        names = checkout.names("papers")
        if args.name not in names:
            raise CommandError(f"PAPER {args.name}: unknown; the papers are {', '.join(names)}", REFUSED)
        run(checkout.load("papers", args.name), args, Path("out/reproduce") / args.name)
    return OK


def _listed() -> str:
    """All papers, each with its studies."""
    try:
        names = checkout.names("papers")
    except StudyError as error:
        return f"\nPAPER: {error}\n"
    return "\npapers:\n" + "".join(f"{line}\n" for name in names for line in _lines(name))


def _lines(name: str) -> list[str]:
    """The lines of one paper. A mistake in one paper, of whatever kind, does not hide the others."""
    try:
        paper = checkout.load("papers", name)
        return [f"  {name:<26}{paper.about}", *listed(paper)]
    except Exception as error:  # noqa: BLE001 (the line says which)
        return [f"  {name:<26}{error}"]
