"""`groupflow bench [PART...]`: measures, prints a table; of all parts, out/bench/results.json."""

import json
import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments.bench import (
    dispatchers,
    entries,
    gather,
    line,
    pipeline,
    sessions,
    split,
    transfer,
    tree,
    tuning,
    veth,
)
from experiments.bench.figure import Figure
from groupflow.study.errors import StudyError
from groupflow.study.experiment import Experiment

_OUT = Path("out/bench")
PARTS: dict[str, Callable[[], list[Figure]]] = {
    "pipeline": pipeline.figures,
    "line": line.figures,
    "entries": entries.figures,
    "tuning": tuning.figures,
    "sessions": sessions.figures,
    "gather": gather.figures,
    "tree": tree.figures,
    "dispatchers": dispatchers.figures,
    "split": split.figures,
    "veth": veth.figures,
    "transfer": lambda: transfer.figures(_OUT / "transfer"),
}
AS_ROOT = ("veth", "transfer")


def add_options(parser: ArgumentParser) -> None:
    listed = ", ".join(PARTS)
    parser.add_argument("parts", nargs="*", type=_part, metavar="PART", help=f"of {listed} (default: all)")


def _part(name: str) -> str:
    if name not in PARTS:
        raise ArgumentTypeError(f"{name}: there are {', '.join(PARTS)}")
    return name


def run(args: Namespace) -> None:
    """Raises StudyError where a part that needs root was left out."""
    wanted: list[str] = args.parts or list(PARTS)
    console = Console()
    figures: list[Figure] = []
    root = os.geteuid() == 0 or not any(name in AS_ROOT for name in wanted)
    for name in wanted:
        if root or name not in AS_ROOT:
            console.print(f"{name} ...")
            figures += PARTS[name]()
    table = Table("figure", "value", "unit", "note")
    for figure in figures:
        table.add_row(figure.name, f"{figure.value:,}", figure.unit, figure.note)
    console.print(table)
    if wanted == list(PARTS):
        _OUT.mkdir(parents=True, exist_ok=True)
        (_OUT / "results.json").write_text(json.dumps([f._asdict() for f in figures], indent=2) + "\n")
    if not root:
        raise StudyError("transfers and packets over veth need root: use sudo")


EXPERIMENT = Experiment(
    "throughput of switches, agents and netsim, join times and rounds of tuning on this machine",
    run,
    add_options=add_options,
)
