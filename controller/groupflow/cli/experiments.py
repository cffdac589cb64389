"""`groupflow reproduce`, `experiment`, `demo`, `bench`: all stand in the checkout's `papers` and
`experiments`, and have their line and their options themselves."""

from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from groupflow.cli import frame
from groupflow.cli.common import Common, check_folder
from groupflow.errors import Error, Kind
from groupflow.model.fields import Help, Range
from groupflow.study import StudyError, checkout

if TYPE_CHECKING:
    from groupflow.cli.parser import Parser
    from groupflow.study.experiment import Experiment

OWN = ("demo", "bench")
"""experiments that are commands of their own"""
_ALWAYS = ("out",)
"""options of every paper and experiment"""
_GENERAL = ("only", "quick", "seed", "jobs")
"""options that the demo does not have"""


def reproduce(parser: "Parser") -> None:
    """Reproduce a paper in netsim and compare the result with its claims."""
    from groupflow.study.experiment import Experiment, StudyOptions

    parser.add_argument("paper", metavar="PAPER", help="one of the papers below")
    frame.add_model(parser, StudyOptions, (*Experiment.takes, *_ALWAYS))
    parser.set_defaults(run=_reproduce, out=None)
    parser.more = _papers


def _reproduce(args: Namespace, common: Common) -> None:
    names = checkout.names("papers")
    if args.paper not in names:
        known = ", ".join(names)
        raise Error(f"PAPER {args.paper}: unknown; the papers are {known}", Kind.NOT_FOUND)
    _run(checkout.load("papers", args.paper), Path("out/reproduce") / args.paper, args, common)


def _papers() -> str:
    """All papers, each with its studies."""
    try:
        return "\n".join(("", "papers:", *_each("papers", checkout.names("papers")), ""))
    except StudyError as error:
        return f"\nPAPER: {error}\n"


def _each(folder: checkout.Parent, names: Sequence[str]) -> Iterator[str]:
    """The lines of each. A mistake in one, of whatever kind, does not hide the others."""
    for name in names:
        try:
            found = checkout.load(folder, name)
            lines = [f"  {name:<26}{found.about}", *(f"    {line}" for line in listed(found))]
        except Exception as error:  # noqa: BLE001 (the line says which)
            lines = [f"  {name:<26}{error}"]
        yield from lines


def experiment(parser: "Parser") -> None:
    """Run an experiment on a real network under Mininet (root)."""
    _add_each(parser, "experiments", "EXPERIMENT", Path("out/experiment"))


def demo(parser: "Parser") -> None:
    """Send a file to a whole group, and to compare, over TCP (root)."""
    found = checkout.load("experiments", "demo")
    names = [name for name, _, _ in frame.options_of(found.options) if name not in _GENERAL]
    _add(parser, found, names, Path("out/demo"))


def bench(parser: "Parser") -> None:
    """Measure how fast switches, agents and netsim are on this machine."""
    found = checkout.load("experiments", "bench")
    ids = ", ".join(id for study in found.studies for id in study.ids)
    parser.add_argument("only", nargs="*", metavar="PART", help=f"one or several of {ids} (default: all)")
    _add(parser, found, _ALWAYS, Path("out/bench"))


def _add_each(parser: "Parser", folder: checkout.Parent, placeholder: str, out: Path) -> None:
    names = [name for name in checkout.names(folder) if name not in OWN]
    parser.found = (placeholder, names)
    below = parser.add_subparsers(metavar=placeholder, required=True, parser_class=type(parser))
    for name in names:
        try:
            found = checkout.load(folder, name)
        except Exception as error:  # noqa: BLE001 (a mistake in one does not hide the others)
            below.add_parser(name).later = partial(_refuse, str(error))
            continue
        one = below.add_parser(name, description=found.about, formatter_class=RawDescriptionHelpFormatter)
        _add(one, found, (*found.takes, *_ALWAYS), out / name)
        one.epilog = "\n".join(listed(found)) if "only" in found.takes else None
    parser.more = lambda: "\n".join(("", f"{folder}:", *_each(folder, names), ""))


def _refuse(error: str, _: "Parser") -> None:
    raise Error(error)


def listed(found: "Experiment") -> Sequence[str]:
    """The studies under two headings: run where none is named, and run only where named."""
    default = found.by_default(quick=False)
    lines: list[str] = []
    for heading, there in (("run where none is named", True), ("run where it is named", False)):
        studies = [study for study in found.studies if (study in default) is there]
        lines += [f"{heading}:"] if studies else []
        lines += [f"  {', '.join(study.ids):<25} {study.about}" for study in studies]
    return lines


def _add(parser: "Parser", found: "Experiment", names: Collection[str], out: Path) -> None:
    frame.add_model(parser, found.options, names)
    parser.set_defaults(run=partial(_run, found, out), out=None)


def _run(found: "Experiment", out: Path, args: Namespace, common: Common) -> None:
    """Returns when every run has finished, whether the claims hold or not: the claims are the result."""
    from groupflow.study import frame as study

    given: dict[str, Any] = {**vars(args), "json": common.json}
    given["out"] = given.get("out") or out
    given["only"] = tuple(given.get("only") or ())
    check_folder(given["out"])
    study.run(found, frame.filled(found.options, given))


def sweep(
    common: Common,
    file: Annotated[Path, Help("file of the sweep (YAML)", "EXPERIMENT")],
    *,
    jobs: Annotated[int | None, Help("runs side by side (default: one a core)", "N"), Range(1)] = None,
    out: Annotated[
        Path | None, Help("folder for results (default: out/sweep/NAME of the file)", "FOLDER")
    ] = None,
    again: Annotated[bool, Help("also repeat runs that failed")] = False,
) -> None:
    """Run a scenario with many values of its parameters and many seeds."""
    from groupflow.study.experiment import StudyOptions
    from groupflow.study.sweep.form import read
    from groupflow.study.sweep.runs import sweep as run

    asked = read(file)
    folder = out or Path("out/sweep") / file.stem
    check_folder(folder)
    run(asked, StudyOptions(folder, jobs=jobs, json=common.json), again=again)
