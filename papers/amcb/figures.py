"""Table 1 as a figure: latency and retransmission against the size."""

# matplotlib does not type its keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from pathlib import Path

from matplotlib import pyplot as plt

from experiments.common.drawing import COLOURS, save
from papers.amcb.outcome import Outcomes, again, latency
from papers.amcb.paper import METHODS, NAMES, TABLE, Case


def table_1(path: Path, found: Outcomes) -> None:
    """Lines are measured, diamonds are the paper's."""
    sizes = sorted({case.size for case in found})
    drawing, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
    megabytes = [size / 1e6 for size in sizes]
    for method, colour in zip(METHODS, COLOURS, strict=False):
        outcomes = [found[Case(size, method)] for size in sizes]
        left.plot(megabytes, [latency(each) for each in outcomes], color=colour, label=NAMES[method])
        right.plot(megabytes, [again(each) for each in outcomes], color=colour, label=NAMES[method])
        cells = [TABLE[size][method] for size in sizes]
        style = {"marker": "D", "markersize": 4, "linestyle": "none", "color": colour}
        left.plot(megabytes, [cell.latency_s for cell in cells], **style)  # pyright: ignore[reportArgumentType]
        right.plot(megabytes, [cell.again_percent for cell in cells], **style)  # pyright: ignore[reportArgumentType]
    left.set(xlabel="File [MB]", ylabel="Latency [s]", ylim=(0, None))
    right.set(xlabel="File [MB]", ylabel="Sent again [% of the file]", ylim=(0, None))
    for axis in (left, right):
        axis.grid(alpha=0.25)
    left.legend(fontsize="small")
    drawing.suptitle("Table 1: three rims; diamonds are the paper's", fontsize="medium")
    save(drawing, path)
