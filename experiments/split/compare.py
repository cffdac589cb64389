"""Both measurements of one case, quantity by quantity."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from experiments.common.beside import Comparison
from experiments.split.plan import CONTROLS, SENDER, Plan, Result, Where, form, title
from groupflow.study.drawing import bar, save, subplots
from papers.icn2011.paper import METHODS, Method

NETWORKS = ("b", "c", "d")


def compare(results: Sequence[Result]) -> list[Comparison]:
    """All quantities of each case on the real network, beside each variant of netsim's that was run."""
    return [
        Comparison(
            title(run.case) + (", exact" if other.where == "netsim exact" else ""),
            {**form(run.case), "where": other.where},
            *(name, unit, here, there, expected),
        )
        for run in results
        if run.where == "kernel"
        for other in results
        if other.where != "kernel" and other.case == run.case
        for (name, unit, expected, here), (_, _, _, there) in zip(
            _quantities(run), _quantities(other), strict=True
        )
    ]


def _quantities(result: Result) -> Iterator[tuple[str, str, bool, float]]:
    """Name, unit, whether they should agree, and value; the same names in the same order for every run."""
    rates = {member: bps / 1e6 for member, bps in result.throughput_bps.items()}
    yield "throughput, mean", "Mb/s", True, fmean(rates.values())
    yield "throughput, least", "Mb/s", result.case.method != "unicast", min(rates.values())
    yield "reception", "Mb/s", result.case.method != "unicast", result.least_bps / 1e6
    yield "consumption", "MB", True, result.consumed_bytes / 1e6
    for network in NETWORKS:
        inside = [rate for member, rate in rates.items() if member[1] == network]
        yield f"throughput in network {network}", "Mb/s", result.case.method != "unicast", fmean(inside)
    carried = {ends: count / 1e6 for ends, count in result.link_bytes.items()}
    yield f"on {SENDER}-s1", "MB", True, carried[SENDER, "s1"]
    yield "on s1-s2", "MB", True, carried["s1", "s2"]
    yield "on members' links", "MB", True, _total(carried[s, m] for s, m in carried if m in rates)
    yield "on all links", "MB", True, _total(carried.values())
    if result.case.senders == 1:  # otherwise these links carry data, too
        back = [carried[ends] for ends in carried if ends in _BACK or ends[0] in rates]
        yield "acknowledgements", "MB", False, _total(back)
    for switch in sorted(result.cache_peak_bytes.keys() | {"s1", "s2"}):
        if result.case.method != "unicast":
            peak = result.cache_peak_bytes[switch] / 1e6
            yield f"cache at {switch}, most", "MB", False, peak


_BACK = {("s1", SENDER), ("s2", "s1")}


def _total(values: Iterable[float]) -> float:
    return sum(values, 0.0)


PLACES: tuple[Where, ...] = ("kernel", "netsim", "netsim exact")

LABELS: dict[Method, str] = {"unicast": "uni-\ncast", "n2n": "N2N", "e2e": "E2E"}


def draw(path: Path, plan: Plan, results: Sequence[Result]) -> None:
    """Draws a row for each TCP: throughput, bytes on the link between the switches, the cache at s1."""
    shown: list[tuple[str, Callable[[Result], float]]] = [
        ("throughput of a member, Mb/s", lambda r: fmean(r.throughput_bps.values()) / 1e6),
        ("bytes on s1-s2, MB", lambda r: r.link_bytes["s1", "s2"] / 1e6),
        ("most in the cache at s1, MB", lambda r: r.cache_peak_bytes.get("s1", 0) / 1e6),
    ]
    size = (11, 2.9 * len(plan.tcp))
    figure, grid = subplots(len(plan.tcp), len(shown), figsize=size, squeeze=False)
    places: list[tuple[Method, int]] = [(method, members) for method in METHODS for members in plan.members]
    for row, tcp in zip(grid, plan.tcp, strict=True):
        for axis, (label, value) in zip(row, shown, strict=True):
            for number, where in enumerate(PLACES):
                shown_here = [r for r in results if (r.where, r.case.tcp) == (where, tcp)]
                found = {(r.case.method, r.case.members): value(r) for r in shown_here}
                at = [place for place, key in enumerate(places) if key in found]
                heights = [found[places[place]] for place in at]
                offsets = np.array(at, dtype=np.float64) + 0.28 * (number - 1)
                axis.bar(offsets, heights, 0.26, label=where, **bar(number))
            names = [f"{LABELS[method]}\nto {3 * members}" for method, members in places]
            axis.set_xticks(range(len(places)), names, fontsize="small")
            axis.set(title=f"{label} ({CONTROLS[tcp]})")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(PLACES))
    save(figure, path)
