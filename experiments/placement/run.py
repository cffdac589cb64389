"""`groupflow experiment placement`: draws cost against agents, prints a table, writes its folder."""

from collections.abc import Generator, Sequence
from dataclasses import asdict

from rich.table import Table

from experiments.placement import figure
from experiments.placement.study import Curve, Ratios, against_the_best, curves
from groupflow.study.experiment import Experiment, Study
from groupflow.study.frame import Findings, Frame


def measure(frame: Frame[Curve | Ratios]) -> Generator[Curve | Ratios]:
    ((draws, agents, small),) = frame.runs
    frame.console.print("cost against agents ...")
    yield from curves(draws, agents)
    frame.console.print("against trying all ...")
    yield from against_the_best(small)


def find(frame: Frame[Curve | Ratios], computed: Sequence[Curve | Ratios]) -> Findings:
    found = [each for each in computed if isinstance(each, Curve)]
    ratios = [each for each in computed if isinstance(each, Ratios)]
    figure.draw(frame.options.out / "placement.png", found, ratios)
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


EXPERIMENT = Experiment(
    "cost of split agents against their number, beside the best there is",
    [
        Study(
            "placement",
            "drawn networks; small ones, in which all placements are tried",
            lambda quick, _: [(3, 4, 10) if quick else (10, 12, 300)],
        )
    ],
    takes=("quick",),
    measure=measure,
    find=find,
)
