"""Fig. 2: the packets that a control's delay influences, by the network's speed. Computed, not simulated.

Control by hosts takes a round trip, control by nodes the delay of one link. Until then packets go on as
before on every link of the path. The paper names the round trip, the links' length and use, and the hops. It
does not name its formula: that the number is one of all links together is inferred from its "a few hundred"
and "several million". The ratio of the graphs is one of the constants below. So all claims are `fitted`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from groupflow.study.claims import Claim
from groupflow.study.drawing import marked, panel
from groupflow.study.experiment import Simulation, always
from papers.takano.paper import CASES, MEGABIT, PACKET_BYTES

NAME = "figure-2"
ROUND_TRIP_S = 0.1
LINK_M = 10_000
HOPS = 5
USE = 0.5
"""of a link's rate"""
FIBRE_M_PER_S = 2e8
"""two thirds of light's speed in vacuum"""
FACTOR = 2000
"""the paper's: by so much a node's control delay is shorter than a host's"""
SLOW_BPS, FAST_BPS = 10 * MEGABIT, 100_000 * MEGABIT
SPEEDS_BPS = sorted({SLOW_BPS, FAST_BPS, 100 * MEGABIT} | {case.bandwidth_bps for case in CASES.values()})


@dataclass(frozen=True)
class Speed:
    """A point of both graphs."""

    bps: int
    label: str = NAME
    """as the scenarios' runs have, to which no claim of theirs belongs"""


@dataclass(frozen=True)
class Influenced:
    """The packets that are influenced at a speed."""

    run: Speed
    hosts: float
    nodes: float
    simulated_s: float = 0.0
    packet_hops: int = 0


Points = Mapping[int, Influenced]
"""by speed"""


def packets(bps: int, delay_s: float) -> float:
    return HOPS * USE * bps * delay_s / (8 * PACKET_BYTES)


def compute(speed: Speed) -> Influenced:
    return Influenced(speed, packets(speed.bps, ROUND_TRIP_S), packets(speed.bps, LINK_M / FIBRE_M_PER_S))


def judge(points: Points) -> Iterator[Claim]:
    slow, fast = points[SLOW_BPS], points[FAST_BPS]
    factor = fast.hosts / fast.nodes
    yield Claim(
        f"{NAME}-slow", "1, Fig. 2", "control by hosts, 10 Mb/s: a few hundred packets are influenced",
        "a few hundred", slow.hosts, "packets", 100 <= slow.hosts < 1_000,
        "100 to 1,000", "fitted",
    )  # fmt: skip
    yield Claim(
        f"{NAME}-fast", "1, Fig. 2", "control by hosts, 100 Gb/s: several million packets are influenced",
        "several million", fast.hosts, "packets", 1_000_000 <= fast.hosts < 10_000_000,
        "1 to 10 million", "fitted",
    )  # fmt: skip
    yield Claim(
        f"{NAME}-factor", "1, Fig. 2", "control by nodes reduces the delay by a factor of 2000", FACTOR,
        factor, "times", abs(factor - FACTOR) <= 0.1 * FACTOR, "within a tenth; fibre of 10 km a link",
        "fitted",
    )  # fmt: skip


def draw(path: Path, points: Points) -> None:
    with panel(path, (6, 4)) as axis:
        speeds = [bps / MEGABIT for bps in points]
        axis.loglog(speeds, [p.hosts for p in points.values()], label="control by hosts", **marked(0))
        axis.loglog(speeds, [p.nodes for p in points.values()], label="control by nodes", **marked(1))
        axis.set(
            title="Fig. 2: packets sent while a control is under way",
            xlabel="network speed (Mb/s)",
            ylabel="packets influenced",
        )


COMPUTATION: Simulation[Speed, Influenced, Points] = Simulation(
    compute,
    lambda found: {point.run.bps: point for point in found},
    lambda point: [{"bps": point.run.bps, "by_hosts_packets": point.hosts, "by_nodes_packets": point.nodes}],
    title=lambda speed: f"Fig. 2, {speed.bps / MEGABIT:g} Mb/s",
    cost=lambda _: 1.0,
)
ABOUT = "Fig. 2: packets influenced by control delay, computed"
FIGURE_2 = COMPUTATION.study(NAME, ABOUT, always(*map(Speed, SPEEDS_BPS)), judge, draw)
