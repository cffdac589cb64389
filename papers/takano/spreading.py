"""Fig. 3: a pile of packets spreads over the nodes as heat does along an iron bar.

The target's UDP has the rate of the last link, half that of the others, so that every node has r and J of
that rate and no queue. Packets that come to one node at once are the pile; they wait in the target's queues.

By eqs. 6 to 8 with a uniform r the pile becomes a normal distribution about its place, whose variance grows
by 2 D each link delay. But r is not uniform: r_i-1 = J_i (eq. 5). Eq. 2 then gives J = (D/d) n
(docs/explanation/diffusion.md), so that each packet waits 1/D link delays at a node on average, and takes one
to the next. The pile moves on by D / (1 + D) nodes each delay, and its variance, that of a renewal process,
grows by (1 - D) D / (1 + D)^3: 0.068, and not 0.2, with the paper's D of 0.1.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupflow.study.claims import Claim
from groupflow.study.drawing import COLOURS, panel
from groupflow.study.experiment import always
from papers.takano.outcome import SIMULATION, Outcome, Outcomes
from papers.takano.paper import CASES, LINK_DELAY_NS, PACKET_BYTES, Case, Source
from papers.takano.plan import Run

NAME = "figure-3"
NODE, PACKETS, START_S, SECONDS = 20, 300, 0.01, 0.03
AT_ONCE_BPS = 10**12
NORMAL = 0.05
"""largest difference between the distributions, summed up along the line, that are alike"""
NEAR = 0.1
"""relative difference of the growth of the variance"""
SHOWN = (25, 50, 100, 190)
"""link delays after the pile has come"""


def case() -> Case:
    line = CASES["4L"]
    slow_end = (line.bandwidth_bps,) * (line.nodes - 2) + (line.bandwidth_bps // 2,)
    lasts_s = (PACKETS - 0.5) * 8 * PACKET_BYTES / AT_ONCE_BPS
    pile = Source("pile", NODE, START_S, START_S + lasts_s, AT_ONCE_BPS)
    return replace(
        line, name=NAME, figure="Fig. 3", tcp="udp", rates_bps=slow_end, background_start_s=math.inf,
        joining=(pile,), seconds=SECONDS,
    )  # fmt: skip


class Pile(NamedTuple):
    """The packets of the pile in the nodes at one time."""

    delays: float
    """link delays since it came"""
    stored: NDArray[np.float64]
    """packets, by node"""
    mean: float
    variance: float

    @property
    def normal(self) -> NDArray[np.float64]:
        """As many packets in a normal distribution of this mean and variance."""
        edges = np.arange(len(self.stored) + 1) + 0.5
        scaled = (edges - self.mean) / math.sqrt(2 * max(self.variance, 1e-9))
        return self.stored.sum() * np.diff([0.5 * math.erf(edge) for edge in scaled])


def piles(outcome: Outcome) -> list[Pile]:
    came = int(np.searchsorted(outcome.time_s, START_S)) + 1
    before = outcome.queues[came - 20 : came - 2].mean(axis=0)
    nodes = np.arange(1, outcome.case.nodes + 1)
    found: list[Pile] = []
    for time_s, queues in zip(outcome.time_s[came:], outcome.queues[came:], strict=True):
        stored = queues - before
        mean = float((nodes * stored).sum() / stored.sum())
        variance = float((nodes**2 * stored).sum() / stored.sum() - mean**2)
        found.append(Pile((time_s - START_S) * 1e9 / LINK_DELAY_NS, stored, mean, variance))
    return found


def judge(outcomes: Outcomes) -> Iterator[Claim]:
    ((outcome,),) = outcomes.values()
    first, *_, last = piles(outcome)
    apart = float(np.abs(np.cumsum(last.stored - last.normal)).max() / last.stored.sum())
    delays, d = last.delays - first.delays, outcome.case.diffusion
    growth, moved = (last.variance - first.variance) / delays, (last.mean - first.mean) / delays
    expected = (1 - d) * d / (1 + d) ** 3
    yield Claim(
        f"{NAME}-normal", "2.1, Fig. 3", "a pile of packets becomes a normal distribution", 0, apart,
        "largest difference of the sums along the line", apart <= NORMAL,
        f"at most {NORMAL}; after {last.delays:.0f} link delays",
    )  # fmt: skip
    yield Claim(
        f"{NAME}-variance", "2.2, eqs. 6 to 8",
        "its variance grows by 2 D each link delay, about its place", 2 * d, growth, "each link delay",
        abs(growth - 2 * d) <= NEAR * 2 * d,
        f"within {NEAR:.0%}; with r_i-1 = J_i (eq. 5) {expected:.3f}, and it moves on by"
        f" {d / (1 + d):.4f} nodes each link delay ({moved:.4f})",
    )  # fmt: skip


def draw(path: Path, outcomes: Outcomes) -> None:
    ((outcome,),) = outcomes.values()
    found = piles(outcome)
    nodes = np.arange(1, outcome.case.nodes + 1)
    with panel(path, (6, 4)) as axis:
        for colour, after in zip(COLOURS, SHOWN, strict=False):
            pile = min(found, key=lambda each: abs(each.delays - after))
            axis.plot(nodes, pile.stored, ".", color=colour, label=f"after {after} link delays")
            axis.plot(nodes, pile.normal, color=colour, linewidth=0.8)
        axis.set(title="Fig. 3: a pile, and normal distributions (lines)", xlabel="node")
        axis.set_ylabel("packets stored")


RUN = Run(NAME, case(), "dfc", shaped=False, sample_ns=LINK_DELAY_NS)
ABOUT = "Fig. 3: a pile of packets spreads"
FIGURE_3 = SIMULATION.study(NAME, ABOUT, always(RUN), judge, draw)
