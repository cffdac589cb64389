"""`python -m experiments.bench [PART...]`: measures, prints a table; of all parts, out/bench/results.json."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
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
PARTS: dict[str, Callable[[], list[Figure]]] = {
    "pipeline": pipeline.figures,
    "line": line.figures,
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


def main() -> int:
    """Runs the parts. Exit code 1 if parts that need root were left out."""
    parser = argparse.ArgumentParser(prog="python -m experiments.bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    wanted: list[str] = parser.parse_args().parts or list(PARTS)
    if unknown := [name for name in wanted if name not in PARTS]:
        parser.error(f"no part {unknown[0]}; the parts are {', '.join(PARTS)}")
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
        print("bench: transfers and packets over veth need root: run `sudo make bench`", file=sys.stderr)
    return 0 if root else 1


if __name__ == "__main__":
    sys.exit(main())
