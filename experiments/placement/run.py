"""`groupflow experiment placement`: draws cost against agents, prints a table, writes its folder."""

import json
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from experiments.placement import figure
from experiments.placement.study import Curve, Ratios, against_the_best, curves
from groupflow.study.experiment import Experiment
from groupflow.study.files import into, write_json
from groupflow.study.options import ExperimentOptions


def run(options: ExperimentOptions) -> None:
    console = Console(stderr=options.json)
    console.print("cost against agents ...")
    found = curves(3 if options.quick else 10, 4 if options.quick else 12)
    console.print("against trying all ...")
    ratios = against_the_best(10 if options.quick else 300)
    results = {"curves": [asdict(c) for c in found], "ratios": [asdict(r) for r in ratios]}
    with into(options.out):
        figure.draw(options.out / "placement.png", found, ratios)
        write_json(options.out / "results.json", results)
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        _print(console, found, ratios)


def _print(console: Console, found: list[Curve], ratios: list[Ratios]) -> None:
    table = Table("network", "objective", "cost / unicast for 0, 1, 2, ... agents")
    for curve in found:
        table.add_row(curve.network, curve.objective, " ".join(f"{value:.2f}" for value in curve.mean))
    console.print(table)
    table = Table("small networks", "objective", "draws", "best found", "mean ratio", "worst ratio")
    for row in ratios:
        count = len(row.ratios)
        average = sum(row.ratios) / count
        table.add_row(
            row.kind, row.objective, f"{count}", f"{row.best}", f"{average:.4f}", f"{row.ratios[-1]:.3f}"
        )
    console.print(table)


EXPERIMENT = Experiment("cost of split agents against their number, beside the best there is", run)
