"""`python -m experiments.bench`: measures, prints a table, writes out/bench/results.json."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments.bench import (
    dispatchers,
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

_OUT = Path("out/bench")


def main() -> int:
    """Everything that needs no root first; exit code 1 when there is none for the rest."""
    console = Console()
    figures: list[Figure] = []
    console.print("pipeline in process ...")
    figures += pipeline.figures()
    console.print("netsim ...")
    figures += line.figures()
    console.print("tuning rounds ...")
    figures += tuning.figures()
    console.print("1,000 sessions ...")
    figures += sessions.figures()
    console.print("gathering ...")
    figures += gather.figures()
    console.print("a clustered tree ...")
    figures += tree.figures()
    figures += dispatchers.figures()
    console.print("split agents ...")
    figures += split.figures()
    if root := os.geteuid() == 0:
        console.print("packets over veth ...")
        figures += veth.figures()
        console.print("transfers ...")
        figures += transfer.figures(_OUT / "transfer")
    table = Table("figure", "value", "unit", "note")
    for figure in figures:
        table.add_row(figure.name, f"{figure.value:,}", figure.unit, figure.note)
    console.print(table)
    _OUT.mkdir(parents=True, exist_ok=True)
    (_OUT / "results.json").write_text(json.dumps([f._asdict() for f in figures], indent=2) + "\n")
    if not root:
        print("bench: transfers and packets over veth need root: run `sudo make bench`", file=sys.stderr)
    return 0 if root else 1


if __name__ == "__main__":
    sys.exit(main())
