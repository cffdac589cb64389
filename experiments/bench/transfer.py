"""64 MiB to 3, 9 and 15 receivers on Fig. 5: the time must not depend on their number. Needs root."""

from pathlib import Path

from rich.console import Console

from experiments.bench.figure import Figure
from experiments.demo.options import Options
from experiments.demo.scenario import Scenario


def _one(members: int, out: Path) -> Figure:
    options = Options(members=members, loss=0, baseline=False, out=out)
    (report,) = Scenario(options, Console(quiet=True)).run()
    slowest = report.runs[0].group.seconds or 0.0
    note = f"{slowest / report.parameters.ideal_seconds:.3f} of size/rate + delay"
    if report.cpu_bound:
        note += ", CPU-bound: about this machine"
    return Figure(f"64 MiB to {3 * members} receivers", round(slowest, 2), "s", note)


def figures(out: Path) -> list[Figure]:
    """Times of one run for each number of members."""
    return [_one(members, out) for members in (1, 3, 5)]
