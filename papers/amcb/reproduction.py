"""The paper for the command: Table 1 and studies beyond it."""

from collections.abc import Iterator
from pathlib import Path

from groupflow.study.experiment import Experiment
from papers.amcb import claims, figures, flowcharts
from papers.amcb.outcome import SIMULATION, Outcomes, runs
from papers.amcb.paper import METHODS, QUICK_SIZES, SIZES, Case
from papers.amcb.studies import forgetting, modes, rims, size


def _cases(quick: bool) -> Iterator[Case]:
    return (Case(size, method) for size in (QUICK_SIZES if quick else SIZES) for method in METHODS)


def _draw(path: Path, found: Outcomes) -> None:
    figures.table_1(path, found)
    flowcharts.draw(path.with_name("bone-hub.png"), path.with_name("bone-rim.png"))


TABLE_1 = SIMULATION.study(
    "table-1", "latency and retransmission by the size of the file", runs(_cases), claims.evaluate, _draw
)
EXPERIMENT = Experiment(
    "round multicast between caches over a satellite link (Adaptive Multicasting Cache Bone)",
    [TABLE_1, *(module.STUDY for module in (size, modes, rims, forgetting))],
    default=lambda quick: [TABLE_1],
)
