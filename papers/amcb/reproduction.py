"""The paper for the command: Table 1 and studies beyond it."""

from pathlib import Path

from groupflow.study.drawing import line, marked, save, subplots
from groupflow.study.experiment import Experiment
from papers.amcb import claims, flowcharts
from papers.amcb.outcome import SIMULATION, Outcomes, again, latency, runs
from papers.amcb.paper import METHODS, NAMES, QUICK_SIZES, SIZES, TABLE, Case
from papers.amcb.studies import STUDIES


def table_1(path: Path, found: Outcomes) -> None:
    """Draws measurements as lines, and the paper's figures as marks."""
    sizes = sorted({case.size for case in found})
    drawing, (left, right) = subplots(1, 2, figsize=(9.6, 3.8))
    megabytes = [size / 1e6 for size in sizes]
    for number, method in enumerate(METHODS):
        outcomes = [found[Case(size, method)] for size in sizes]
        left.plot(megabytes, [latency(each) for each in outcomes], label=NAMES[method], **line(number))
        right.plot(megabytes, [again(each) for each in outcomes], label=NAMES[method], **line(number))
        cells = [TABLE[size][method] for size in sizes]
        style = marked(number) | {"linestyle": "none"}
        left.plot(megabytes, [cell.latency_s for cell in cells], **style)
        right.plot(megabytes, [cell.again_percent for cell in cells], **style)
    left.set(xlabel="File [MB]", ylabel="Latency [s]", ylim=(0, None))
    right.set(xlabel="File [MB]", ylabel="Sent again [% of the file]", ylim=(0, None))
    left.legend()
    drawing.suptitle("Table 1: three rims; lines are netsim's, marks the paper's")
    save(drawing, path)


def _draw(path: Path, found: Outcomes) -> None:
    table_1(path, found)
    flowcharts.draw(path.with_name("bone-hub.png"), path.with_name("bone-rim.png"))


TABLE_1 = SIMULATION.study(
    "table-1", "latency and retransmission by the size of the file",
    runs(lambda quick: [Case(size, m) for size in (QUICK_SIZES if quick else SIZES) for m in METHODS]),
    claims.evaluate, _draw,
)  # fmt: skip
EXPERIMENT = Experiment(
    "round multicast over a satellite link (Adaptive Multicasting Cache Bone): half a minute on a core",
    [TABLE_1, *STUDIES],
    default=lambda quick: [TABLE_1],
)
