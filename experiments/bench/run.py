"""`groupflow bench [PART...]`: measures, prints a table, and writes results.json. If some parts are not
measured, the file has the names of the others, so that an interrupted run leaves earlier results alone."""

import os
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TypeAlias

from rich.table import Table

from experiments.bench import line, pipeline, sessions, tree, veth
from experiments.bench.tools import Figure
from groupflow.study import StudyError
from groupflow.study.experiment import Experiment, Findings, Frame, Study, always

PARTS: dict[str, Callable[[Path], list[Figure]]] = {
    "pipeline": lambda _: pipeline.figures(),
    "line": lambda _: line.figures(),
    "entries": pipeline.entries,
    "sessions": lambda _: sessions.figures(),
    "tree": lambda _: tree.figures(),
    "veth": lambda _: veth.figures(),
}
LEFT_OUT = "packets over veth need root: use sudo"
AS_ROOT = ("veth",)
Measured: TypeAlias = tuple[str, list[Figure]]
"""a part and its figures"""


def measure(frame: Frame[Measured]) -> Generator[Measured]:
    """Without root, all parts that need none."""
    able = _able(frame.runs)
    if not able:
        raise StudyError(LEFT_OUT)
    for name in able:
        frame.console.print(f"{name} ...")
        yield name, PARTS[name](frame.options.out)


def _able(parts: Sequence[str]) -> list[str]:
    return [name for name in parts if name not in AS_ROOT or os.geteuid() == 0]


def find(frame: Frame[Measured], parts: Sequence[Measured]) -> Findings:
    names = [name for name, _ in parts]
    name = "results" if set(names) == set(PARTS) else "-".join(names)
    figures = [figure for _, measured in parts for figure in measured]
    table = Table("figure", "value", "unit", "note")
    for figure in figures:
        table.add_row(figure.name, f"{figure.value:,}", figure.unit, figure.note)
    form = [figure._asdict() for figure in figures]
    left = "" if _able(frame.runs) == frame.runs else LEFT_OUT
    return Findings({f"{name}.json": form}, form, [table], failed=left)


EXPERIMENT = Experiment(
    "throughput of switches, agents and netsim, and times to install sessions, on this machine",
    [Study(name, "", always(name)) for name in PARTS],
    takes=("only",),
    measure=measure,
    find=find,
)
