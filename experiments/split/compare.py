"""The distance between netsim and the real network: both measurements of one case, quantity by quantity."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from experiments.common.nearness import Nearness
from experiments.split.plan import SENDER, Result, Where
from papers.icn2011.paper import Case

NETWORKS = ("b", "c", "d")


@dataclass(frozen=True)
class Comparison(Nearness):
    """One quantity of one case, on the real network and in netsim."""

    case: Case
    where: Where
    """variant of netsim's run"""
    quantity: str
    unit: str
    kernel: float
    netsim: float
    expected: bool
    """whether both should be near: throughput and bytes on links should, the fill of a cache need not"""


def compare(results: Sequence[Result]) -> list[Comparison]:
    """All quantities of each case on the real network, beside each variant of netsim's that was run."""
    return [
        Comparison(run.case, other.where, name, unit, here, there, expected)
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
