"""The paper's claims about each figure, and the criterion for each in one run.

"Low", "unstable" and "almost the same" are the paper's words; the bounds that stand for them are all here.
judge.py draws the conclusion from several runs. Statements that one event decides are one claim: losses at
the node where packets pile up; in scenario 4 a lasting recovery, which is to half of the line, and stability;
Vegas' losses and its likeness with and without DFC.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

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
USED = 0.25
"""efficiency below which nothing follows from the absence of losses: half of a fair share"""
RECOVERED_TRIPS = 10
"""round trips within which a recovery from congestion is rapid; TCP alone takes several for each loss"""
COLLAPSED = 0.8
"""ratio to the efficiency with DFC below which it is degraded remarkably"""


def _claim(
    outcome: Outcome, section: str, name: str, claim: str,
    paper: str | float, measured: float, unit: str, holds: bool, note: str = "",
) -> Claim:  # fmt: skip
    """A claim about the figure of the outcome's scenario."""
    case = outcome.case
    return Claim(
        f"{case.name}-{name}", f"{section}, {case.figure}", claim, paper, measured, unit, holds, note
    )


def _words(outcome: Outcome) -> str:
    return "TCP alone" if outcome.run.control == "tcp" else "with DFC"


def _low_and_unstable(outcome: Outcome) -> Iterator[Claim]:
    control, words = outcome.run.control, _words(outcome)
    mean, spread = outcome.mean_efficiency, outcome.efficiency_spread
    yield _claim(
        outcome, "4.2", f"{control}-low", f"{words}: the efficiency is low", f"< {HALF}", mean, "",
        mean < LOW, f"low: a mean below {LOW}",
    )  # fmt: skip
    yield _claim(
        outcome, "4.2", f"{control}-unstable", f"{words}: the efficiency is unstable", "unstable", spread,
        "standard deviation", spread > NEAR,
    )  # fmt: skip


def _loses_at_the_background(tcp: Outcome) -> Iterator[Claim]:
    there, note = _lost_there(tcp)
    words = f"TCP alone: the background, which enters at node {tcp.case.background_at}, causes losses there"
    lost = there > tcp.dropped / 2
    yield _claim(tcp, "4.2", "tcp-loss", words, "losses", there, "packets", lost, note)


def _lost_there(tcp: Outcome) -> tuple[int, str]:
    """Packets lost at the node where the background enters, and the note on all others."""
    there = tcp.drops.get(tcp.case.background_at, 0)
    return there, f"{tcp.dropped - there} at other nodes, {tcp.early_drops} before the background"


def _high_and_stable(dfc: Outcome) -> Iterator[Claim]:
    """Near 0.5 "the target flow is sharing the link bandwidth fairly" (4.2). 4 has `4-dfc-recovers`."""
    section, mean, spread = SECTIONS[dfc.case.name], dfc.mean_efficiency, dfc.efficiency_spread
    yield _claim(
        dfc, section, "dfc-half",
        "with DFC the target flow's efficiency is near 0.5: both flows share the link fairly", HALF,
        mean, "", abs(mean - HALF) <= NEAR and dfc.fairness >= FAIR,
        f"within {NEAR}, and the slower flow's throughput at least {FAIR} of the faster's"
        f" ({dfc.fairness:.3f})",
    )  # fmt: skip
    yield _claim(
        dfc, section, "dfc-stable", "with DFC the efficiency is stable", "stable", spread,
        "standard deviation", spread <= NEAR,
    )  # fmt: skip


def _without_loss(dfc: Outcome) -> Iterator[Claim]:
    section, lost = SECTIONS[dfc.case.name], dfc.dropped + dfc.early_drops
    yield _claim(dfc, section, "dfc-no-loss", "with DFC no packet is lost", 0, lost, "packets", lost == 0)


def _buffer_too_small(outcome: Outcome) -> Iterator[Claim]:
    name, words = f"{outcome.run.control}-loss", f"{_words(outcome)}: the buffer is too small"
    yield _claim(outcome, "4.2", name, words, "losses", outcome.dropped, "packets", outcome.dropped > 0)


def _vegas_oscillates(tcp: Outcome) -> Iterator[Claim]:
    mean, spread = tcp.mean_efficiency, tcp.efficiency_spread
    quarter = len(tcp.efficiency) // 4
    last, before = tcp.efficiency[-quarter:].mean(), tcp.efficiency[-2 * quarter : -quarter].mean()
    moving = float(abs(last - before))
    yield _claim(
        tcp, "6.2", "oscillation", "Vegas: strong oscillation of the efficiency", "oscillates", spread,
        "standard deviation", spread > NEAR,
    )  # fmt: skip
    yield _claim(
        tcp, "6.2", "slow", "Vegas: the throughput decreases, and converges slowly", "slowly", moving,
        "difference between the means of the last two quarters of the run",
        mean < HALF - NEAR and moving > NEAR,
        f"a mean below {HALF - NEAR:g} ({mean:.3f}), and a difference above {NEAR}",
    )  # fmt: skip


def _vegas_is_the_same(tcp: Outcome, dfc: Outcome) -> Iterator[Claim]:
    words = "Vegas: DFC makes almost no difference, and no packet is lost with it or without"
    difference, lost = abs(tcp.mean_efficiency - dfc.mean_efficiency), tcp.dropped + dfc.dropped
    used, note = _used(tcp, dfc)
    holds, note = used and lost == 0 and difference <= NEAR, f"{lost} packets lost; {note}"
    yield _claim(tcp, "6.2", "same", words, 0, difference, "difference of means", holds, note)


def _used(*outcomes: Outcome) -> tuple[bool, str]:
    """Whether the flows use enough of the line to meet its buffers at all; and the note."""
    least = min(outcome.mean_efficiency for outcome in outcomes)
    return least >= USED, f"where the efficiency is {USED} at least: less never meets a buffer ({least:.3f})"


def _vegas_loses(tcp: Outcome) -> Iterator[Claim]:
    words = "Vegas, 400 packets, alone: packets are lost"
    yield _claim(tcp, "6.2", "tcp-loss", words, "losses", tcp.dropped, "packets", tcp.dropped > 0)


def _vegas_collapses(tcp: Outcome, dfc: Outcome) -> Iterator[Claim]:
    mean, other = tcp.mean_efficiency, dfc.mean_efficiency
    words, note = "Vegas, 400 packets, alone: the efficiency collapses", f"collapse: below {COLLAPSED} of it"
    ratio = mean / max(other, 1e-9)
    holds = mean < COLLAPSED * other
    yield _claim(
        tcp, "6.2", "tcp-collapse", words, "degraded remarkably", ratio, "of that with DFC", holds, note
    )


def _where_tcp_s_packets_are(tcp: Outcome) -> Iterator[Claim]:
    at = tcp.case.background_at
    column = tcp.queues[:, at - 1]
    peak_at = int(column.argmax())
    peak = float(column[peak_at])
    stored = tcp.queues[peak_at]
    share = float(stored[at - 1] / max(stored.sum(), 1.0))
    buffer = tcp.case.buffer
    left = float(column[peak_at:].min()) / max(peak, 1.0)
    window = tcp.window_packets
    window_left = float(window[peak_at:].min()) / max(float(window[peak_at]), 1.0)
    there, lost = _lost_there(tcp)
    yield Claim(
        "4-tcp-pile", "4.2, Fig. 12",
        f"TCP alone: all stored packets are at node {at}, reach the buffer size, and are lost there",
        buffer, peak, "packets", peak >= 0.99 * buffer and share >= PILED and there > tcp.dropped / 2,
        f"{share:.2f} of all that are stored; all: at least {PILED}; {there} lost there, {lost}",
    )  # fmt: skip
    yield Claim(
        "4-tcp-falls", "4.2, Fig. 12",
        f"TCP alone: then the window is reduced, and the packets stored at node {at} decrease",
        "decrease", left, "of the peak, the least after it", left <= HALF and window_left <= HALF,
        f"decrease: to half; the window: to {window_left:.2f} of that at the peak",
    )  # fmt: skip


def _where_dfc_s_packets_are(dfc: Outcome) -> Iterator[Claim]:
    case = dfc.case
    joined = int((dfc.time_s < case.background_start_s).sum())
    window = dfc.window_packets[joined:]
    kept = float((window / np.maximum(np.maximum.accumulate(window), 1.0)).min())
    trip_s = 2 * sum(case.link_delays_ns) / 1e9
    away = np.flatnonzero(np.abs(dfc.efficiency - HALF) > NEAR)
    settled_s = float(dfc.time_s[away[-1]]) if away.size else 0.0
    late = max(0.0, settled_s - case.background_start_s)
    yield Claim(
        "4-dfc-spread", "4.2, Fig. 13", "with DFC stored packets spread along the path", "spread",
        dfc.fullest_share, "largest node's share", 0 < dfc.fullest_share <= FEW_SHARE,
        f"spread: when most are stored no node holds more than {FEW_SHARE:.0%}",
    )  # fmt: skip
    yield Claim(
        "4-dfc-window", "4.2, Fig. 13", "with DFC the TCP window is not reduced", 1, kept,
        "of the largest before, the least", kept >= 1, "after the background has joined",
    )  # fmt: skip
    yield Claim(
        "4-dfc-recovers", "4.2, Fig. 9, and 7",
        "with DFC the network recovers rapidly from congestion, and is stable then: flows share fairly",
        "rapidly", late / trip_s, "round trips until the efficiency stays near 0.5",
        late <= RECOVERED_TRIPS * trip_s and dfc.fairness >= FAIR,
        f"rapidly: {RECOVERED_TRIPS} of {1000 * trip_s:.1f} ms; fair: {dfc.fairness:.3f}, of {FAIR}",
    )  # fmt: skip


def _size_matters(small: Outcome, medium: Outcome, large: Outcome) -> Iterator[Claim]:
    means = [outcome.mean_efficiency for outcome in (small, medium, large)]
    yield Claim(
        "size-tcp", "5.2, Figs. 14, 9, 15", "TCP alone: the larger the network, the worse", "4S > 4 > 4L",
        means[0] - means[2], "4S less 4L", min(means[0] - means[1], means[1] - means[2]) > NEAR,
        ", ".join(f"{mean:.2f}" for mean in means) + f"; each more than {NEAR} below the one before",
    )  # fmt: skip


def _size_does_not_matter(*sizes: Outcome) -> Iterator[Claim]:
    means = [outcome.mean_efficiency for outcome in sizes]
    spread, words = max(means) - min(means), "with DFC the network's size makes no difference"
    where = "5.2, Figs. 14, 9, 15"
    yield Claim("size-dfc", where, words, 0, spread, "largest difference", spread <= NEAR)


def _better_than_tahoe(tahoe: Outcome, other: Outcome) -> Iterator[Claim]:
    words = f"{_said(other.case.tcp)} alone does better than Tahoe alone"
    yield _better(other, "better-than-tahoe", words, "better", tahoe, other)


def _worse_than_dfc(alone: Outcome, dfc: Outcome) -> Iterator[Claim]:
    words = f"{_said(alone.case.tcp)} alone does worse than with DFC"
    yield _better(alone, "worse-than-dfc", words, "worse", alone, dfc)


def _better(about: Outcome, name: str, words: str, paper: str, worse: Outcome, better: Outcome) -> Claim:
    more = better.mean_efficiency - worse.mean_efficiency
    note = f"more than {NEAR}"
    return _claim(about, "6.2", name, words, paper, more, "difference of means", more > NEAR, note)


def _said(tcp: str) -> str:
    """A TCP's name as people write it."""
    return {"newreno": "NewReno"}.get(tcp, tcp.capitalize())


def _small_buffer_is_enough(large: Outcome, small: Outcome) -> Iterator[Claim]:
    difference = abs(large.mean_efficiency - small.mean_efficiency)
    used, note = _used(large, small)
    words = "with DFC a buffer of 400 packets does as one of 1800"
    holds = used and difference <= NEAR
    where = "6.2, Fig. 19"
    yield Claim("4V2-dfc-as-4V", where, words, 0, difference, "difference of means", holds, note)


SECTIONS = {
    name: "5.2" if name in ("4S", "4L") else "6.2" if name in ("4R", "4N") else "4.2" for name in CASES
}
"""sections of the paper that speak of the scenarios' figures"""
_Judge = Callable[..., Iterable[Claim]]
_COMPLEMENTARY: tuple[tuple[tuple[Control, ...], _Judge], ...] = (
    (("tcp",), _low_and_unstable),
    (("tcp",), _loses_at_the_background),
    (("dfc",), _high_and_stable),
    (("dfc",), _without_loss),
)
_CONTROLLED = _COMPLEMENTARY[2:]
"""of sizes and TCPs other than Tahoe the paper does not say that TCP alone is low and unstable"""
_BOTH: tuple[Control, ...] = ("tcp", "dfc")
_ABOUT: dict[str, tuple[tuple[tuple[Control, ...], _Judge], ...]] = {
    **dict.fromkeys(("1", "2", "3", "5"), _COMPLEMENTARY),
    "4": (_COMPLEMENTARY[0], _COMPLEMENTARY[-1]),
    "6": tuple(((c,), judge) for c in _BOTH for judge in (_low_and_unstable, _buffer_too_small)),
    **dict.fromkeys(("4S", "4L", "4R", "4N"), _CONTROLLED),
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
