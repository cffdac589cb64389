"""Table 1 as a figure: latency and retransmission against the size of the file."""

from collections.abc import Mapping
from pathlib import Path

from groupflow.study.drawing import COLOURS, line, marked, save, subplots
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


def bars(path: Path, title: str, named: Mapping[str, Case], found: Outcomes) -> None:
    """Draws latency and bytes sent again of each case."""
    drawing, axes = subplots(1, 2, figsize=(9.6, 3.8))
    panels = ((latency, "Latency [s]"), (again, "Sent again [% of the file]"))
    for axis, (value, label) in zip(axes, panels, strict=True):
        for place, case in enumerate(named.values()):
            axis.bar(place, value(found[case]), 0.7, color=COLOURS[0])
        axis.set_xticks(range(len(named)), list(named), fontsize="small", rotation=30, ha="right")
        axis.set_ylabel(label)
    drawing.suptitle(title)
    save(drawing, path)
