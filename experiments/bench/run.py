"""`groupflow bench [PART...]`: measures, prints a table, and writes results.json. If some parts are not
measured, the file has the names of the others, so that an interrupted run leaves earlier results alone."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TypeAlias

from rich.table import Table

from experiments.bench import (
    attack,
    chain,
    dispatchers,
    entries,
    gather,
    line,
    page,
    pipeline,
    sessions,
    split,
    transfer,
    tree,
    tuning,
    veth,
)
from experiments.bench.figure import Figure
from groupflow.study.errors import RefusedError, StudyError
from groupflow.study.experiment import Experiment, Findings, Frame
from groupflow.study.options import ExperimentOptions

PARTS: dict[str, Callable[[Path], list[Figure]]] = {
    "pipeline": lambda _: pipeline.figures(),
    "line": lambda _: line.figures(),
    "entries": lambda _: entries.figures(),
    "tuning": lambda _: tuning.figures(),
    "sessions": lambda _: sessions.figures(),
    "gather": lambda _: gather.figures(),
    "tree": lambda _: tree.figures(),
    "dispatchers": lambda _: dispatchers.figures(),
    "split": lambda _: split.figures(),
    "veth": lambda _: veth.figures(),
    "chain": lambda _: chain.figures(),
    "attack": lambda _: attack.figures(),
    "transfer": lambda out: transfer.figures(out / "transfer"),
    "page": lambda out: page.figures(out / "page"),
}
AS_ROOT = ("veth", "chain", "attack", "transfer", "page")
Measured: TypeAlias = tuple[str, list[Figure]]
"""a part and its figures"""


def add_options(parser: ArgumentParser) -> None:
    listed = ", ".join(PARTS)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {listed} (default: all)")


def run(args: Namespace) -> None:
    """Raises StudyError where a part that needs root was left out."""
    wanted: list[str] = args.parts or list(PARTS)
    if unknown := [name for name in wanted if name not in PARTS]:
        raise RefusedError(f"PART {unknown[0]}: unknown; the parts are {', '.join(PARTS)}")
    frame = Frame[Measured](ExperimentOptions(args.name, args.out, json=args.json))
    able = [name for name in wanted if name not in AS_ROOT or os.geteuid() == 0]
    left = "" if able == wanted else "transfers, the page and packets over veth need root: use sudo"
    frame.run(_measure(able, frame), lambda parts: find(left, parts))
    if not able:
        raise StudyError(left)


def _measure(parts: Sequence[str], frame: Frame[Measured]) -> Generator[Measured]:
    for name in parts:
        frame.console.print(f"{name} ...")
        yield name, PARTS[name](frame.options.out)


def find(left: str, parts: Sequence[Measured]) -> Findings:
    names = [name for name, _ in parts]
    name = "results" if set(names) == set(PARTS) else "-".join(names)
    figures = [figure for _, measured in parts for figure in measured]
    table = Table("figure", "value", "unit", "note")
    for figure in figures:
        table.add_row(figure.name, f"{figure.value:,}", figure.unit, figure.note)
    form = [figure._asdict() for figure in figures]
    return Findings({f"{name}.json": form}, form, [table], failed=left)


EXPERIMENT = Experiment(
    "throughput of switches, agents and netsim, join times and rounds of tuning on this machine",
    run,
    add_options=add_options,
)
