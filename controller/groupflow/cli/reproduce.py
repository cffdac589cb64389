"""`groupflow reproduce`: the papers of a checkout in netsim; names, scenarios and studies are the papers'."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from groupflow.cli.command import OK, REFUSED, CommandError, Subparsers, add_command
from groupflow.cli.experiments import add_choice, add_dask, add_options, options, studying
from groupflow.study import checkout
from groupflow.study.errors import StudyError

if TYPE_CHECKING:
    from groupflow.study.paper import Paper


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "reproduce", "reproduce a paper in netsim and compare the result with the paper's claims",
        _run,
        example="groupflow reproduce takano --scenario 2 --scenario 4V --jobs 2",
    )  # fmt: skip
    parser.add_argument("name", metavar="PAPER", help="one of the papers below")
    add_choice(parser)
    add_options(parser)
    add_dask(parser)
    parser.more = _listed


def _run(args: argparse.Namespace) -> int:
    """Exit code 0 when every run finished, whether the claims hold or not: the claims are the result."""
    asked = options(args, Path("out/reproduce") / args.name)
    with studying():
        names = checkout.paper_names()
        if args.name not in names:
            raise CommandError(f"PAPER {args.name}: unknown; the papers are {', '.join(names)}", REFUSED)
        paper = checkout.load_paper(args.name)
        from groupflow.study.reproduction import reproduce

        reproduce(paper, asked)
    return OK


def _listed() -> str:
    """All papers, each with its scenarios and studies."""
    try:
        names = checkout.paper_names()
    except StudyError as error:
        return f"\nPAPER: {error}\n"
    return "\npapers:\n" + "".join(f"{line}\n" for name in names for line in _lines(name))


def _lines(name: str) -> list[str]:
    """The lines of one paper. A mistake in one paper, of whatever kind, does not hide the others."""
    try:
        paper = checkout.load_paper(name)
        return [f"  {name:<26}{paper.about}", *_studies(paper)]
    except Exception as error:  # noqa: BLE001 (the line says which)
        return [f"  {name:<26}{error}"]


def _studies(paper: "Paper") -> Iterator[str]:
    """The studies under two headings: run where none is named, and run only where named."""
    named = {f"--scenario {chosen}": study for chosen, study in paper.scenarios.items()}
    named |= {f"--study {chosen}": study for chosen, study in paper.studies.items()}
    default = paper.default(False)
    others = {study.name: study for study in default if study not in named.values()}
    for heading, there in (("run where none is named", True), ("run where it is named", False)):
        lines = [
            f"      {title:<22}{study.about}"
            for title, study in (others | named).items()
            if (study in default) is there
        ]
        yield from ([f"    {heading}:", *lines] if lines else [])
