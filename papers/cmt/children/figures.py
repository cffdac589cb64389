"""Delay and rate of the last host over the number of children."""

from pathlib import Path

from groupflow.study.drawing import COLOURS, save, subplots
from papers.cmt.children import claims
from papers.cmt.children.plan import BULK_MBPS, PACED_MBPS
from papers.cmt.slow.outcome import Outcomes


def drawn(path: Path, outcomes: Outcomes) -> None:
    """Draws a panel for the delay and one for the rate, with a line for each way to send."""
    drawing, panels = subplots(1, 2, figsize=(9.6, 3.4))
    for panel, rate, value, label in (
        (panels[0], PACED_MBPS, claims.delay_ms, "Delay of the last host [ms]"),
        (panels[1], BULK_MBPS, claims.rate_mbps, "Rate of the slowest host [Mbit/s]"),
    ):
        for one_by_one, colour in zip((False, True), COLOURS, strict=False):
            values = claims.by_children(outcomes, rate, one_by_one, value)
            name = "one after the other" if one_by_one else "all at once"
            panel.plot(list(values), list(values.values()), marker="o", color=colour, label=name)
        panel.set(xlabel="Children of each host", ylabel=label, yscale="log", xscale="log")
        panel.legend(fontsize="small")
    save(drawing, path)
