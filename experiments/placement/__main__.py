"""`python -m experiments.placement`: draws cost against agents, prints a table, writes out/placement."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments.placement import figure
from experiments.placement.study import Curve, Ratios, against_the_best, curves


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.placement", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/placement"), help="(default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="few draws, for tests")
    args = parser.parse_args()
    console = Console()
    console.print("cost against agents ...")
    found = curves(3 if args.quick else 10, 4 if args.quick else 12)
    console.print("against trying all ...")
    ratios = against_the_best(10 if args.quick else 300)
    figure.draw(args.out / "placement.png", found, ratios)
    results = {"curves": [asdict(c) for c in found], "ratios": [asdict(r) for r in ratios]}
    (args.out / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    _print(console, found, ratios)
    return 0


def _print(console: Console, found: list[Curve], ratios: list[Ratios]) -> None:
    table = Table("network", "objective", "cost / unicast for 0, 1, 2, ... agents")
    for curve in found:
        table.add_row(curve.network, curve.objective, " ".join(f"{value:.2f}" for value in curve.mean))
    console.print(table)
    table = Table("small graphs", "objective", "draws", "best found", "mean ratio", "worst ratio")
    for row in ratios:
        count = len(row.ratios)
        average = sum(row.ratios) / count
        table.add_row(
            row.kind, row.objective, f"{count}", f"{row.best}", f"{average:.4f}", f"{row.ratios[-1]:.3f}"
        )
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
