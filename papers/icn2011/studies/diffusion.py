"""Diffusion-type flow control between the split agents, over a line of P4 switches with a narrow last link.

Two senders in networks a and b, so that two streams share the line. With the control SA1 is the external node
of eq. 9 (Takano et al., docs/explanation/diffusion.md): it shapes each stream to the rate that the first
switch reports, and keeps the bytes that it may not send yet in its cache.

The rule: the control helps if over all points it loses a hundredth of what TCP alone loses at most, and if at
each point, by a fiftieth at least, members receive more of each stream, and SA1 caches less.
"""

from collections.abc import Callable, Iterator

from groupflow.sim.model import Variant
from groupflow.study.claims import Claim, finding
from papers.icn2011.outcome import SIMULATION, Indices, Points, runs
from papers.icn2011.paper import NAMES, QUICK_LOADS, SPLIT, Case, Method

NAME = "diffusion"
ROUTERS = 4
DELAY_MS = 100
"""sum of the delays of all links between the agents"""
D = 0.1
LOADS = (0.2, 0.6, 1.0)
TCPS: dict[Variant, str] = {"sack": "SACK", "cubic": "CUBIC"}
QUICK_TCPS: tuple[Variant, ...] = ("sack",)
MORE = 1.02
"""ratio to TCP alone from which on a value is more; its inverse is less"""
LOST = 0.01
"""share of the losses of TCP alone that is almost nothing"""


def _cases(quick: bool) -> list[Case]:
    return [
        _case(method, load, tcp, d)
        for method in SPLIT
        for tcp in (QUICK_TCPS if quick else TCPS)
        for load in (QUICK_LOADS[1:] if quick else LOADS)
        for d in (None, D)
    ]


def _case(method: Method, load: float, tcp: Variant, d: float | None) -> Case:
    return Case(method, load, senders=2, members=1, delay_ms=DELAY_MS, tcp=tcp, routers=ROUTERS, diffusion=d)


def _judge(points: Points) -> Iterator[Claim]:
    tcps: list[Variant] = list(dict.fromkeys(case.tcp for case in points))
    loads = sorted({case.load for case in points})
    for method in SPLIT:

        def against_alone(
            index: Callable[[Indices], float], method: Method = method
        ) -> dict[tuple[Variant, float], tuple[float, float]]:
            """An index with the control, and alone."""
            return {
                (tcp, load): (
                    index(points[_case(method, load, tcp, D)].mean),
                    index(points[_case(method, load, tcp, None)].mean),
                )
                for tcp in tcps
                for load in loads
            }

        yield from [
            _lost(method, against_alone(lambda i: i.lost_in_network)),
            _ratio(method, "received", "members receive more of each stream",
                   against_alone(lambda i: i.reception_mbps), lambda ratio: ratio >= MORE,
                   f"at least {MORE:g}"),
            _ratio(method, "cache", "SA1 caches less", against_alone(lambda i: i.cache_ratio),
                   lambda ratio: ratio <= 1 / MORE, f"at most {1 / MORE:.2f}"),
        ]  # fmt: skip


Pairs = dict[tuple[Variant, float], tuple[float, float]]


def _lost(method: Method, pairs: Pairs) -> Claim:
    controlled, alone = (sum(pair[place] for pair in pairs.values()) for place in (0, 1))
    claim = f"{NAMES[method]}: with the control almost no packet is lost between the agents"
    note = f"at most {LOST:g} of what TCP alone loses, {alone:.0f} over all points, of which it does lose"
    return finding(
        NAME, f"{method}-lost", claim, controlled, "packets", controlled <= LOST * alone and alone > 0, note
    )


def _ratio(
    method: Method, name: str, claim: str, pairs: Pairs, holds: Callable[[float], bool], criterion: str
) -> Claim:
    ratios = {at: with_control / alone if alone else 1.0 for at, (with_control, alone) in pairs.items()}
    good = sum(map(holds, ratios.values()))
    tcps: list[Variant] = list(dict.fromkeys(tcp for tcp, _ in ratios))
    listed = "; ".join(
        f"{TCPS[tcp]} " + ", ".join(f"{load:g}: {ratios[at, load]:.2f}" for at, load in ratios if at == tcp)
        for tcp in tcps
    )
    mean = sum(ratios.values()) / len(ratios)
    note = f"{good} of {len(ratios)} points, {criterion} in each; by load, {listed}"
    return finding(
        NAME, f"{method}-{name}", f"{NAMES[method]}: with the control {claim}", mean, "of TCP alone's, mean",
        good == len(ratios), note,
    )  # fmt: skip


STUDY = SIMULATION.beyond(NAME, "diffusion-type flow control between the agents", runs(_cases), _judge)
