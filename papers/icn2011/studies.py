"""Studies of parameters that the paper leaves open, and of questions beyond it.

The rule of "cache-ratio": a reading of Cmax/Dmax, whose Dmax is the "transmitted data size of all senders"
(IV.B), explains Fig. 12 if all of the paper's claims about it hold. Cmax is that of SA1 in both; Dmax is what
all senders transmitted, or what those beside SA1 did, whose packets are the first it caches.

The rule of "connections": by the paper's own claims, a connection a message instead of one that stays
explains unicast's zero of Fig. 7 if both claims on that hold, End-End's independence of the delay if its
claims at 100 ms hold, and Fig. 12 if its claims hold. Two seeds and three loads, as there are up to 3,600
connections.

The rule of "agent-rate": a rate of agents explains Figs. 10 and 12 if all four statements hold with it;
"more" is the paper's claims' (`claims.MORE`). An agent handles a bounded number of packets a second, received
and sent: the paper's reason for Fig. 10 is an "explosion in ACK packet transmission" at agents; it gives no
figure of their speed.

The rule of "diffusion": the control helps if over all points it loses a hundredth of what TCP alone loses at
most, and if at each point, by a fiftieth at least, members receive more of each stream, and SA1 caches less.
Two senders in networks a and b share a line of P4 switches with a narrow last link between the split agents.
With the control SA1 is the external node of eq. 9 (Takano et al., docs/explanation/diffusion.md): it shapes
each stream to the rate that the first switch reports, and keeps the bytes that it may not send yet in its
cache.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from groupflow.sim.model import Variant
from groupflow.study.claims import Claim, finding, restated
from papers.icn2011 import claims
from papers.icn2011.claims import DEGRADED, LARGE_CACHE
from papers.icn2011.figures import FIGURES
from papers.icn2011.outcome import SIMULATION, Indices, Point, Points, runs
from papers.icn2011.paper import (
    METHODS,
    NAMES,
    QUICK_LOADS,
    QUICK_SECONDS,
    QUICK_SEEDS,
    SECONDS,
    SPLIT,
    Case,
    D,
    Method,
    Run,
    high_loads,
    usual_loads,
)

FIG_7, FIG_12 = (figure for figure in FIGURES if figure.number in (7, 12))
READINGS = {"all": "all four senders", "own": "the two senders beside SA1"}


def _own(point: Point) -> Point:
    """The point, whose cache ratio is over what the senders beside SA1 transmitted."""
    return Point(*(replace(i, cache_ratio=i.own_cache_ratio) for i in (point.mean, point.spread)))


def _cache_ratio(points: Points) -> Iterator[Claim]:
    for reading, said in READINGS.items():
        read = points if reading == "all" else {case: _own(point) for case, point in points.items()}
        judged = claims.evaluate(FIG_12.number, read)
        yield from (restated(claim, "cache-ratio", reading, said=f"Dmax of {said}") for claim in judged)
        held = sum(claim.holds for claim in judged)
        yield finding(
            "cache-ratio", f"{reading}-explains", f"Dmax of {said} explains Fig. 12", held,
            f"of {len(judged)} claims", held == len(judged), "all of them",
        )  # fmt: skip


def _connection_runs(quick: bool, seed: int) -> list[Run]:
    seconds = QUICK_SECONDS if quick else SECONDS
    cases = dict.fromkeys(case for figure in (FIG_7, FIG_12) for case in figure.cases(QUICK_LOADS))
    return [
        Run(replace(case, each_message=True), number, seconds)
        for case in cases
        if case.method in METHODS
        for number in range(seed, seed + QUICK_SEEDS)
    ]


def _connections(points: Points) -> Iterator[Claim]:
    usual = {replace(case, each_message=False): point for case, point in points.items()}
    for figure in (FIG_7, FIG_12):
        cases = frozenset(figure.cases(QUICK_LOADS))
        found = {case: point for case, point in usual.items() if case in cases}
        yield from (restated(claim, "connections") for claim in claims.evaluate(figure.number, found))


RATES = (20_000, 30_000, 40_000, 50_000, None)
"""packets/s. With four senders at load 1 an agent of any rate handles some 50,000."""
QUICK_RATES = (30_000, None)


def _rate_case(method: Method, load: float, rate: int | None) -> Case:
    return Case(method, load, senders=4, members=1, agent_pps=rate)


def _rate_cases(quick: bool) -> list[Case]:
    return [
        _rate_case(method, load, rate)
        for method in SPLIT
        for load in high_loads(quick)
        for rate in (QUICK_RATES if quick else RATES)
    ]


def _agent_rate(points: Points) -> Iterator[Claim]:
    rates = list(dict.fromkeys(case.agent_pps for case in points))
    loads = sorted({case.load for case in points})

    def over(method: Method, rate: int | None) -> list[Indices]:
        return [points[_rate_case(method, load, rate)].mean for load in loads]

    def received(method: Method, rate: int | None) -> list[float]:
        return [indices.received_mbps for indices in over(method, rate)]

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
            lambda value: value >= claims.MORE, f"of Node-Node's {last}: at least {claims.MORE:g}",
        ),
        (
            "n2n-cache", "Node-Node's cache ratio is about 80 %",
            lambda rate: max(indices.cache_ratio for indices in over("n2n", rate)),
            lambda value: low <= value <= high, f"{low:g} to {high:g}",
        ),
    ]  # fmt: skip
    at_all = rates
    for name, claim, value, holds, criterion in statements:
        values = {rate: value(rate) for rate in rates}
        good = [rate for rate in rates if holds(values[rate])]
        at_all = [rate for rate in at_all if rate in good]
        note = f"{criterion}; {', '.join(f'{_said(rate)}: {values[rate]:.2f}' for rate in rates)}"
        yield finding(
            "agent-rate", name, f"{claim}, at some agents' rate", len(good), "rates", bool(good), note
        )
    note = f"all four at {', '.join(map(_said, at_all)) or 'none'}"
    yield finding(
        "agent-rate", "all", "one rate explains all of it", len(at_all), "rates", bool(at_all), note
    )


def _said(rate: int | None) -> str:
    return "any" if rate is None else f"{rate:,}/s"


ROUTERS = 4
DELAY_MS = 100
"""sum of the delays of all links between the agents"""
LOADS = (0.2, 0.6, 1.0)
TCPS: dict[Variant, str] = {"sack": "SACK", "cubic": "CUBIC"}
MORE = 1.02
"""ratio to TCP alone from which on a value is more; its inverse is less"""
LOST = 0.01
"""share of the losses of TCP alone that is almost nothing"""


def _line_cases(quick: bool) -> list[Case]:
    tcps: list[Variant] = ["sack"] if quick else list(TCPS)
    return [
        _line_case(method, load, tcp, d)
        for method in SPLIT
        for tcp in tcps
        for load in (QUICK_LOADS[1:] if quick else LOADS)
        for d in (None, D)
    ]


def _line_case(method: Method, load: float, tcp: Variant, d: float | None) -> Case:
    return Case(method, load, senders=2, members=1, delay_ms=DELAY_MS, tcp=tcp, routers=ROUTERS, diffusion=d)


Pairs = Mapping[tuple[Variant, float], tuple[float, float]]
"""an index by TCP and load: with the control, and alone"""


def _diffusion(points: Points) -> Iterator[Claim]:
    tcps: list[Variant] = list(dict.fromkeys(case.tcp for case in points))
    loads = sorted({case.load for case in points})

    def pairs(method: Method, index: Callable[[Indices], float]) -> Pairs:
        return {
            (tcp, load): (
                index(points[_line_case(method, load, tcp, D)].mean),
                index(points[_line_case(method, load, tcp, None)].mean),
            )
            for tcp in tcps
            for load in loads
        }

    for method in SPLIT:
        yield from [
            _lost(method, pairs(method, lambda i: i.lost_in_network)),
            _ratio(method, "received", "members receive more of each stream",
                   pairs(method, lambda i: i.reception_mbps), lambda ratio: ratio >= MORE,
                   f"at least {MORE:g}"),
            _ratio(method, "cache", "SA1 caches less", pairs(method, lambda i: i.cache_ratio),
                   lambda ratio: ratio <= 1 / MORE, f"at most {1 / MORE:.2f}"),
        ]  # fmt: skip


def _lost(method: Method, pairs: Pairs) -> Claim:
    controlled, alone = map(sum, zip(*pairs.values(), strict=True))
    claim = f"{NAMES[method]}: with the control almost no packet is lost between the agents"
    note = f"at most {LOST:g} of what TCP alone loses, {alone:.0f} over all points, of which it does lose"
    holds = controlled <= LOST * alone and alone > 0
    return finding("diffusion", f"{method}-lost", claim, controlled, "packets", holds, note)


def _ratio(
    method: Method, name: str, claim: str, pairs: Pairs, holds: Callable[[float], bool], criterion: str
) -> Claim:
    ratios = {at: with_control / alone if alone else 1.0 for at, (with_control, alone) in pairs.items()}
    good = sum(map(holds, ratios.values()))
    listed = "; ".join(
        f"{said} " + ", ".join(f"{load:g}: {ratio:.2f}" for (at, load), ratio in ratios.items() if at == tcp)
        for tcp, said in TCPS.items()
        if any(at == tcp for at, _ in ratios)
    )
    mean = sum(ratios.values()) / len(ratios)
    note = f"{good} of {len(ratios)} points, {criterion} in each; by load, {listed}"
    return finding(
        "diffusion", f"{method}-{name}", f"{NAMES[method]}: with the control {claim}", mean,
        "of TCP alone's, mean", good == len(ratios), note,
    )  # fmt: skip


STUDIES = [
    SIMULATION.beyond("cache-ratio", "two readings of the cache ratio's divisor",
                      runs(lambda quick: FIG_12.cases(usual_loads(quick))), _cache_ratio),
    SIMULATION.beyond("connections", "a connection a message", _connection_runs, _connections),
    SIMULATION.beyond("agent-rate", "agents that handle a bounded number of packets", runs(_rate_cases),
                      _agent_rate),
    SIMULATION.beyond("diffusion", "diffusion-type flow control between the agents", runs(_line_cases),
                      _diffusion),
]  # fmt: skip
