"""The paper's claims about each figure, and the criterion for each in one run.

"Low", "unstable" and "almost the same" are the paper's words; the bounds that stand for them are all here.
judge.py draws the conclusion from several runs.
"""

from collections.abc import Callable

from groupflow.study.claims import Claim
from papers.takano.judge import Rule
from papers.takano.outcome import Outcome
from papers.takano.paper import CASES
from papers.takano.plan import Control, label

HALF = 0.5
NEAR = 0.05
"""largest difference in efficiency that is near 0.5, almost the same, or stable (standard deviation)"""
LOW = 0.45
FAIR = 0.9
FEW_SHARE = 0.25
"""largest share of the stored packets in one node that are spread along the path, when most are stored"""
PILED = 0.9
"""smallest share of the stored packets that is piled up at a node"""
COLLAPSED = 0.8
"""ratio to the efficiency with DFC below which it is degraded remarkably"""


def _low_and_unstable(tcp: Outcome) -> list[Claim]:
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


def _high_and_stable(dfc: Outcome) -> list[Claim]:
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


def _buffer_too_small(outcome: Outcome) -> list[Claim]:
    case, control = outcome.case, outcome.run.control
    words = "TCP alone" if control == "tcp" else "with DFC"
    return [
        Claim(
            f"{case.name}-{control}-unstable", case.figure, f"{words}: the efficiency is unstable",
            "unstable", outcome.efficiency_spread, "standard deviation", outcome.efficiency_spread > NEAR,
        ),
        Claim(
            f"{case.name}-{control}-loss", case.figure, f"{words}: the buffer is too small", "losses",
            outcome.dropped, "packets", outcome.dropped > 0,
        ),
    ]  # fmt: skip


def _vegas_oscillates(tcp: Outcome) -> list[Claim]:
    case = tcp.case
    return [
        Claim(
            f"{case.name}-oscillation", case.figure, "Vegas: strong oscillation of the efficiency",
            "oscillates", tcp.efficiency_spread, "standard deviation", tcp.efficiency_spread > NEAR,
        ),
    ]  # fmt: skip


def _vegas_is_the_same(tcp: Outcome, dfc: Outcome) -> list[Claim]:
    case = tcp.case
    difference = abs(tcp.mean_efficiency - dfc.mean_efficiency)
    return [
        Claim(
            f"{case.name}-no-loss", case.figure, "Vegas: no packet is lost, with and without DFC", 0,
            tcp.dropped + dfc.dropped, "packets", tcp.dropped + dfc.dropped == 0,
        ),
        Claim(
            f"{case.name}-same", case.figure, "Vegas: DFC makes almost no difference", 0,
            difference, "difference of means", difference <= NEAR,
        ),
    ]  # fmt: skip


def _vegas_loses(tcp: Outcome) -> list[Claim]:
    case = tcp.case
    return [
        Claim(
            f"{case.name}-tcp-loss", case.figure, "Vegas, 400 packets, alone: packets are lost", "losses",
            tcp.dropped, "packets", tcp.dropped > 0,
        ),
    ]  # fmt: skip


def _vegas_collapses(tcp: Outcome, dfc: Outcome) -> list[Claim]:
    case = tcp.case
    return [
        Claim(
            f"{case.name}-tcp-collapse", case.figure, "Vegas, 400 packets, alone: the efficiency collapses",
            "degraded remarkably", tcp.mean_efficiency / max(dfc.mean_efficiency, 1e-9), "of that with DFC",
            tcp.mean_efficiency < COLLAPSED * dfc.mean_efficiency, f"collapse: below {COLLAPSED} of it",
        ),
    ]  # fmt: skip


def _where_tcp_s_packets_are(tcp: Outcome) -> list[Claim]:
    at = tcp.case.background_at
    column = tcp.queues[:, at - 1]
    peak = float(column.max())
    stored = tcp.queues[int(column.argmax())]
    share = float(stored[at - 1] / max(stored.sum(), 1.0))
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
    ]  # fmt: skip


def _where_dfc_s_packets_are(dfc: Outcome) -> list[Claim]:
    buffer = dfc.case.buffer
    return [
        Claim(
            "4-dfc-spread", "Fig. 13", "with DFC stored packets spread along the path", "spread",
            dfc.fullest_share, "largest node's share", 0 < dfc.fullest_share <= FEW_SHARE,
            f"spread: when most are stored no node holds more than {FEW_SHARE:.0%}",
        ),
        Claim(
            "4-dfc-below-buffer", "Fig. 13", "with DFC no node's buffer fills", f"< {buffer}",
            dfc.fullest_queue, "packets", dfc.fullest_queue < buffer,
        ),
    ]  # fmt: skip


def _size_matters(small: Outcome, medium: Outcome, large: Outcome) -> list[Claim]:
    means = [outcome.mean_efficiency for outcome in (small, medium, large)]
    return [
        Claim(
            "size-tcp", "Figs. 14, 9, 15", "TCP alone: the larger the network, the worse", "4S > 4 > 4L",
            means[0] - means[2], "4S less 4L", means[0] > means[1] > means[2],
            ", ".join(f"{mean:.2f}" for mean in means),
        ),
    ]  # fmt: skip


def _size_does_not_matter(*sizes: Outcome) -> list[Claim]:
    means = [outcome.mean_efficiency for outcome in sizes]
    spread = max(means) - min(means)
    return [
        Claim(
            "size-dfc", "Figs. 14, 9, 15", "with DFC the network's size makes no difference", 0,
            spread, "largest difference", spread <= NEAR,
        ),
    ]  # fmt: skip


def _better_than_tahoe(tahoe: Outcome, other: Outcome) -> list[Claim]:
    case = other.case
    better = other.mean_efficiency - tahoe.mean_efficiency
    return [
        Claim(
            f"{case.name}-better-than-tahoe", case.figure,
            f"{_said(case.tcp)} alone does better than Tahoe alone", "better",
            better, "difference of means", better > 0,
        ),
    ]  # fmt: skip


def _worse_than_dfc(alone: Outcome, dfc: Outcome) -> list[Claim]:
    case = alone.case
    better = dfc.mean_efficiency - alone.mean_efficiency
    return [
        Claim(
            f"{case.name}-worse-than-dfc", case.figure, f"{_said(case.tcp)} alone does worse than with DFC",
            "worse", better, "difference of means", better > 0,
        ),
    ]  # fmt: skip


def _said(tcp: str) -> str:
    """A TCP's name as people write it."""
    return {"newreno": "NewReno"}.get(tcp, tcp.capitalize())


def _small_buffer_is_enough(large: Outcome, small: Outcome) -> list[Claim]:
    difference = abs(large.mean_efficiency - small.mean_efficiency)
    return [
        Claim(
            "4V2-dfc-as-4V", "Fig. 19", "with DFC a buffer of 400 packets does as one of 1800", 0,
            difference, "difference of means", difference <= NEAR,
        ),
    ]  # fmt: skip


_Judge = Callable[..., list[Claim]]
_COMPLEMENTARY: tuple[tuple[tuple[Control, ...], _Judge], ...] = (
    (("tcp",), _low_and_unstable),
    (("dfc",), _high_and_stable),
)
_ABOUT: dict[str, tuple[tuple[tuple[Control, ...], _Judge], ...]] = {
    **dict.fromkeys(CASES, _COMPLEMENTARY),
    "6": ((("tcp",), _buffer_too_small), (("dfc",), _buffer_too_small)),
    "4V": ((("tcp",), _vegas_oscillates), (("tcp", "dfc"), _vegas_is_the_same)),
    "4V2": ((("tcp",), _vegas_loses), (("tcp", "dfc"), _vegas_collapses)),
}


def _between(judge: _Judge, control: Control, *names: str) -> Rule:
    """A rule that compares scenarios under the same control."""
    return Rule(tuple(label(name, control) for name in names), judge)


RULES: tuple[Rule, ...] = (
    *(
        Rule(tuple(label(name, control) for control in controls), judge)
        for name, parts in _ABOUT.items()
        for controls, judge in parts
    ),
    _between(_where_tcp_s_packets_are, "tcp", "4"),
    _between(_where_dfc_s_packets_are, "dfc", "4"),
    _between(_size_matters, "tcp", "4S", "4", "4L"),
    _between(_size_does_not_matter, "dfc", "4S", "4", "4L"),
    *(_between(_better_than_tahoe, "tcp", "4", name) for name in ("4R", "4N")),
    *(Rule((label(name, "tcp"), label(name, "dfc")), _worse_than_dfc) for name in ("4R", "4N")),
    _between(_small_buffer_is_enough, "dfc", "4V", "4V2"),
)
"""All claims of the paper."""
