"""`groupflow experiment placement`: draws cost against agents, prints a table, writes its folder."""

from collections.abc import Generator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.table import Table

from experiments.placement import figure
from experiments.placement.study import Curve, Ratios, against_the_best, curves
from groupflow.study.experiment import Experiment, Findings, Frame
from groupflow.study.options import ExperimentOptions


def run(options: ExperimentOptions) -> None:
    frame = Frame[Curve | Ratios](options)
    frame.run(_computed(frame), partial(find, options.out))


def _computed(frame: Frame[Curve | Ratios]) -> Generator[Curve | Ratios]:
    quick = frame.options.quick
    frame.console.print("cost against agents ...")
    yield from curves(3 if quick else 10, 4 if quick else 12)
    frame.console.print("against trying all ...")
    yield from against_the_best(10 if quick else 300)


def find(out: Path, computed: Sequence[Curve | Ratios]) -> Findings:
    found = [each for each in computed if isinstance(each, Curve)]
    ratios = [each for each in computed if isinstance(each, Ratios)]
    figure.draw(out / "placement.png", found, ratios)
    form = {"curves": [asdict(c) for c in found], "ratios": [asdict(r) for r in ratios]}
    costs = Table("network", "objective", "cost / unicast for 0, 1, 2, ... agents")
    for curve in found:
        costs.add_row(curve.network, curve.objective, " ".join(f"{value:.2f}" for value in curve.mean))
    judged = Table("small networks", "objective", "draws", "best found", "mean ratio", "worst ratio")
    for row in ratios:
        count = len(row.ratios)
        average = sum(row.ratios) / count
        judged.add_row(
            row.kind, row.objective, f"{count}", f"{row.best}", f"{average:.4f}", f"{row.ratios[-1]:.3f}"
        )
    return Findings({"results.json": form}, form, [costs, judged])


EXPERIMENT = Experiment("cost of split agents against their number, beside the best there is", run)
