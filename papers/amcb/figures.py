"""Table 1 as a figure: latency and retransmission against the size of the file."""

from pathlib import Path

from groupflow.study.drawing import line, marked, save, subplots
from papers.amcb.outcome import Outcomes, again, latency
from papers.amcb.paper import METHODS, NAMES, TABLE, Case


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
