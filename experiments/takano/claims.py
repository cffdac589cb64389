"""What the paper says of each figure, and how it is decided whether a run agrees.

"Low", "unstable" and "almost the same" are the paper's words; the bounds that stand for them are all here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from experiments.common.claims import Claim
from experiments.takano.outcome import Outcome
from experiments.takano.paper import CASES

Outcomes = Mapping[tuple[str, bool], Outcome]
"""by the scenario's name and whether diffusion-type flow control was on"""

HALF = 0.5
NEAR = 0.05
"""near 0.5, almost the same, stable (standard deviation): within this much efficiency"""
LOW = 0.45
FAIR = 0.9
FEW_SHARE = 0.25
"""spread along the path: when most packets are stored, no node holds more than this share of them"""
PILED = 0.9
"""piled up at a node: it holds at least this share"""


def evaluate(outcomes: Outcomes) -> list[Claim]:
    """All claims of the scenarios that were run, both with and without diffusion-type flow control."""
    claims: list[Claim] = []
    ran = [name for name in CASES if (name, False) in outcomes and (name, True) in outcomes]
    for name in ran:
        claims += _ABOUT[name](outcomes[name, False], outcomes[name, True])
    for needed, compare in _COMPARISONS:
        if all(name in ran for name in needed):
            claims += compare(outcomes)
    return claims


def _tcp_is_low_and_unstable(tcp: Outcome) -> list[Claim]:
    case = tcp.case
    at = case.background_at
    there = tcp.drops.get(at, 0)
    return [
        Claim(
            f"{case.name}-tcp-low", case.figure, "TCP alone: the efficiency is low", f"< {HALF}",
            tcp.mean_efficiency, "", tcp.mean_efficiency < LOW, f"low: a mean below {LOW}",
        ),
        Claim(
            f"{case.name}-tcp-unstable", case.figure, "TCP alone: the efficiency is unstable", "unstable",
            tcp.efficiency_spread, "standard deviation", tcp.efficiency_spread > NEAR,
        ),
        Claim(
            f"{case.name}-tcp-loss", case.figure, f"TCP alone: packets are lost at node {at}", "losses",
            there, "packets", there > tcp.dropped / 2,
            f"{tcp.dropped - there} at other nodes, {tcp.early_drops} before the background",
        ),
    ]  # fmt: skip


def _dfc_is_high_and_stable(dfc: Outcome) -> list[Claim]:
    case = dfc.case
    near_half = abs(dfc.mean_efficiency - HALF) <= NEAR
    return [
        Claim(
            f"{case.name}-dfc-half", case.figure, "with DFC the target flow's efficiency is near 0.5", HALF,
            dfc.mean_efficiency, "", near_half,
        ),
        Claim(
            f"{case.name}-dfc-stable", case.figure, "with DFC the efficiency is stable", "stable",
            dfc.efficiency_spread, "standard deviation", dfc.efficiency_spread <= NEAR,
        ),
        Claim(
            f"{case.name}-dfc-fair", case.figure, "with DFC both flows share the link fairly", 1.0,
            dfc.fairness, "slower over faster", dfc.fairness >= FAIR,
        ),
        Claim(
            f"{case.name}-dfc-no-loss", case.figure, "with DFC no packet is lost", 0,
            dfc.dropped + dfc.early_drops, "packets", dfc.dropped + dfc.early_drops == 0,
        ),
    ]  # fmt: skip


def _complementary(tcp: Outcome, dfc: Outcome) -> list[Claim]:
    return _tcp_is_low_and_unstable(tcp) + _dfc_is_high_and_stable(dfc)


def _buffer_too_small(tcp: Outcome, dfc: Outcome) -> list[Claim]:
    case = tcp.case
    claims: list[Claim] = []
    for outcome, name, words in ((tcp, "tcp", "TCP alone"), (dfc, "dfc", "with DFC")):
        claims += [
            Claim(
                f"{case.name}-{name}-unstable", case.figure, f"{words}: the efficiency is unstable",
                "unstable", outcome.efficiency_spread, "standard deviation", outcome.efficiency_spread > NEAR,
            ),
            Claim(
                f"{case.name}-{name}-loss", case.figure, f"{words}: the buffer is too small", "losses",
                outcome.dropped, "packets", outcome.dropped > 0,
            ),
        ]  # fmt: skip
    return claims


def _vegas(tcp: Outcome, dfc: Outcome) -> list[Claim]:
    case = tcp.case
    difference = abs(tcp.mean_efficiency - dfc.mean_efficiency)
    return [
        Claim(
            f"{case.name}-oscillation", case.figure, "Vegas: strong oscillation of the efficiency",
            "oscillates", tcp.efficiency_spread, "standard deviation", tcp.efficiency_spread > NEAR,
        ),
        Claim(
            f"{case.name}-no-loss", case.figure, "Vegas: no packet is lost, with and without DFC", 0,
            tcp.dropped + dfc.dropped, "packets", tcp.dropped + dfc.dropped == 0,
        ),
        Claim(
            f"{case.name}-same", case.figure, "Vegas: DFC makes almost no difference", 0,
            difference, "difference of means", difference <= NEAR,
        ),
    ]  # fmt: skip


def _vegas_small_buffer(tcp: Outcome, dfc: Outcome) -> list[Claim]:
    case = tcp.case
    return [
        Claim(
            f"{case.name}-tcp-loss", case.figure, "Vegas, 400 packets, alone: packets are lost", "losses",
            tcp.dropped, "packets", tcp.dropped > 0,
        ),
        Claim(
            f"{case.name}-tcp-collapse", case.figure, "Vegas, 400 packets, alone: the efficiency collapses",
            "degraded remarkably", tcp.mean_efficiency / max(dfc.mean_efficiency, 1e-9), "of that with DFC",
            tcp.mean_efficiency < 0.8 * dfc.mean_efficiency,
        ),
    ]  # fmt: skip


_ABOUT: dict[str, Callable[[Outcome, Outcome], list[Claim]]] = {
    **dict.fromkeys(("1", "2", "3", "4", "5", "4S", "4L", "4R", "4N"), _complementary),
    "6": _buffer_too_small,
    "4V": _vegas,
    "4V2": _vegas_small_buffer,
}


def _where_packets_are(outcomes: Outcomes) -> list[Claim]:
    tcp, dfc = outcomes["4", False], outcomes["4", True]
    at = tcp.case.background_at
    column = tcp.queues[:, at - 1]
    peak = float(column.max())
    stored = tcp.queues[int(column.argmax())]
    share = float(stored[at - 1] / max(stored.sum(), 1.0))
    highest = float(dfc.queues.max())
    buffer = tcp.case.buffer
    return [
        Claim(
            "4-tcp-pile", "Fig. 12", f"TCP alone: stored packets at node {at} reach the buffer size", buffer,
            peak, "packets", peak >= 0.99 * buffer,
        ),
        Claim(
            "4-tcp-pile-share", "Fig. 12", f"TCP alone: all stored packets are at node {at}", 1.0,
            share, "share at the peak", share >= PILED,
        ),
        Claim(
            "4-dfc-spread", "Fig. 13", "with DFC stored packets spread along the path", "spread",
            dfc.fullest_share, "largest node's share", 0 < dfc.fullest_share <= FEW_SHARE,
            f"spread: when most are stored no node holds more than {FEW_SHARE:.0%}",
        ),
        Claim(
            "4-dfc-below-buffer", "Fig. 13", "with DFC no node's buffer fills", f"< {buffer}",
            highest, "packets", highest < buffer,
        ),
    ]  # fmt: skip


def _network_size(outcomes: Outcomes) -> list[Claim]:
    names = ("4S", "4", "4L")
    small, medium, large = (outcomes[name, False].mean_efficiency for name in names)
    with_dfc = [outcomes[name, True].mean_efficiency for name in names]
    spread = max(with_dfc) - min(with_dfc)
    return [
        Claim(
            "size-tcp", "Figs. 14, 9, 15", "TCP alone: the larger the network, the worse", "4S > 4 > 4L",
            small - large, "4S less 4L", small > medium > large, f"{small:.2f}, {medium:.2f}, {large:.2f}",
        ),
        Claim(
            "size-dfc", "Figs. 14, 9, 15", "with DFC the network's size makes no difference", 0,
            spread, "largest difference", spread <= NEAR,
        ),
    ]  # fmt: skip


def _implementation(outcomes: Outcomes) -> list[Claim]:
    tahoe = outcomes["4", False].mean_efficiency
    claims: list[Claim] = []
    for name, label in (("4R", "Reno"), ("4N", "NewReno")):
        alone, dfc = outcomes[name, False], outcomes[name, True]
        claims += [
            Claim(
                f"{name}-better-than-tahoe", alone.case.figure, f"{label} alone does better than Tahoe alone",
                "better", alone.mean_efficiency - tahoe, "difference of means", alone.mean_efficiency > tahoe,
            ),
            Claim(
                f"{name}-worse-than-dfc", alone.case.figure, f"{label} alone does worse than with DFC",
                "worse", dfc.mean_efficiency - alone.mean_efficiency, "difference of means",
                alone.mean_efficiency < dfc.mean_efficiency,
            ),
        ]  # fmt: skip
    return claims


def _vegas_with_dfc(outcomes: Outcomes) -> list[Claim]:
    large, small = outcomes["4V", True], outcomes["4V2", True]
    difference = abs(large.mean_efficiency - small.mean_efficiency)
    return [
        Claim(
            "4V2-dfc-as-4V", "Fig. 19", "with DFC a buffer of 400 packets does as one of 1800", 0,
            difference, "difference of means", difference <= NEAR,
        ),
    ]  # fmt: skip


_COMPARISONS: tuple[tuple[tuple[str, ...], Callable[[Outcomes], list[Claim]]], ...] = (
    (("4",), _where_packets_are),
    (("4S", "4", "4L"), _network_size),
    (("4", "4R", "4N"), _implementation),
    (("4V", "4V2"), _vegas_with_dfc),
)
