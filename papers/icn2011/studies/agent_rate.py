"""Agents that handle a bounded number of packets a second, received and sent.

The paper's reason for Fig. 10 is an "explosion in ACK packet transmission" at agents; it gives no figure of
their speed. The rule: a rate explains Figs. 10 and 12 if all four statements hold with it; "more" is the
paper's claims' (`claims.MORE`).
"""

from collections.abc import Callable, Iterator

from groupflow.study.claims import Claim, finding
from papers.icn2011.claims import DEGRADED, LARGE_CACHE, MORE
from papers.icn2011.outcome import SIMULATION, Indices, Points, runs
from papers.icn2011.paper import SPLIT, Case, Method, high_loads

NAME = "agent-rate"
RATES = (20_000, 30_000, 40_000, 50_000, None)
"""packets/s. With four senders at load 1 an agent of any rate handles some 50,000."""
QUICK_RATES = (30_000, None)


def _cases(quick: bool) -> list[Case]:
    return [
        _case(method, load, rate)
        for method in SPLIT
        for load in high_loads(quick)
        for rate in (QUICK_RATES if quick else RATES)
    ]


def _case(method: Method, load: float, rate: int | None) -> Case:
    return Case(method, load, senders=4, members=1, agent_pps=rate)


def _judge(points: Points) -> Iterator[Claim]:
    rates = list(dict.fromkeys(case.agent_pps for case in points))
    loads = sorted({case.load for case in points})

    def over(method: Method, rate: int | None, index: Callable[[Indices], float]) -> list[float]:
        return [index(points[_case(method, load, rate)].mean) for load in loads]

    def received(method: Method, rate: int | None) -> list[float]:
        return over(method, rate, lambda indices: indices.received_mbps)

    low, high = LARGE_CACHE
    last = f"at load {loads[-1]:g}"
    statements: list[tuple[str, str, Callable[[int | None], float], Callable[[float], bool], str]] = [
        (
            "n2n-degrades", "Node-Node receives less at high load",
            lambda rate: received("n2n", rate)[-1] / max(received("n2n", rate)),
            lambda value: value < DEGRADED, f"{last}, of the best load's: below {DEGRADED:g}",
        ),
        (
            "e2e-stays", "End-End does not",
            lambda rate: received("e2e", rate)[-1] / max(received("e2e", rate)),
            lambda value: value >= DEGRADED, f"{last}, of the best load's: at least {DEGRADED:g}",
        ),
        (
            "e2e-more", "End-End receives more than Node-Node at high load",
            lambda rate: received("e2e", rate)[-1] / received("n2n", rate)[-1],
            lambda value: value >= MORE, f"of Node-Node's {last}: at least {MORE:g}",
        ),
        (
            "n2n-cache", "Node-Node's cache ratio is about 80 %",
            lambda rate: max(over("n2n", rate, lambda indices: indices.cache_ratio)),
            lambda value: low <= value <= high, f"{low:g} to {high:g}",
        ),
    ]  # fmt: skip
    at_all = set(rates)
    for name, claim, value, holds, criterion in statements:
        values = {rate: value(rate) for rate in rates}
        good = {rate for rate in rates if holds(values[rate])}
        at_all &= good
        listed = ", ".join(f"{_said(rate)}: {values[rate]:.2f}" for rate in rates)
        note = f"{criterion}; {listed}"
        yield finding(NAME, name, f"{claim}, at some agents' rate", len(good), "rates", bool(good), note)
    note = f"all four at {', '.join(_said(rate) for rate in rates if rate in at_all) or 'none'}"
    yield finding(NAME, "all", "one rate explains all of it", len(at_all), "rates", bool(at_all), note)


def _said(rate: int | None) -> str:
    return "any" if rate is None else f"{rate:,}/s"


STUDY = SIMULATION.beyond(NAME, "agents that handle a bounded number of packets", runs(_cases), _judge)
