"""The paper's simulation scenarios: Fig. 5 and Tables 1 to 4."""

import math
from dataclasses import dataclass, replace

MEGABIT = 10**6
PACKET_BYTES = 1500
HEADER_BYTES = 54
"""Ethernet, IPv4 and TCP headers of a frame"""
LINK_DELAY_NS = 100_000
ALPHA = 1.0
BACKGROUND_START_S = 0.1
TARGET, BACKGROUND = "target", "background"


@dataclass(frozen=True)
class Source:
    """A flow of the line: the node and the time where it enters. All flows leave at the last node."""

    flow: str
    node: int
    start_s: float
    stop_s: float = math.inf
    udp_bps: int = 0
    """the rate of UDP that waits in the target's queues; 0: a flow of its own"""


@dataclass(frozen=True)
class Case:
    """One row of the tables. Nodes are numbered from 1; the target flow goes from node 1 to the last."""

    name: str
    figure: str
    bandwidth_bps: int
    window: int
    """the largest TCP window, packets"""
    nodes: int = 30
    background_at: int = 15
    """the node where the background traffic enters; it leaves at the last node"""
    buffer: int = 1800
    """packets in each node"""
    tcp: str = "tahoe"
    """or udp, at the rate of the last link"""
    vegas_gamma: int | None = None
    """packets in queues that end Vegas' slow start; None: ns-2's 1, as the paper does not say"""
    seconds: float = 3.0
    diffusion: float = 0.1
    """D of eq. 3"""
    alpha: float = ALPHA
    background_start_s: float = BACKGROUND_START_S
    """infinite: no background"""
    delays_ns: tuple[int, ...] = ()
    """delays of the links in their order; empty: the paper's, all alike"""
    rates_bps: tuple[int, ...] = ()
    """rates of the links in their order; empty: all `bandwidth_bps`"""
    joining: tuple[Source, ...] = ()
    """flows beyond the paper's two"""

    @property
    def sources(self) -> tuple[Source, ...]:
        background = Source(BACKGROUND, self.background_at, self.background_start_s)
        there = (background,) if math.isfinite(self.background_start_s) else ()
        return (Source(TARGET, 1, 0.0), *there, *self.joining)

    @property
    def link_delays_ns(self) -> tuple[int, ...]:
        return self.delays_ns or (LINK_DELAY_NS,) * (self.nodes - 1)

    @property
    def link_rates_bps(self) -> tuple[int, ...]:
        return self.rates_bps or (self.bandwidth_bps,) * (self.nodes - 1)

    @property
    def link_packets(self) -> float:
        """The most packets that can be in transit on one of the paper's links at once."""
        return self.bandwidth_bps * LINK_DELAY_NS / 1e9 / (8 * PACKET_BYTES)

    @property
    def goodput_bps(self) -> float:
        """Rate of the payload on a full link."""
        return self.bandwidth_bps * (PACKET_BYTES - HEADER_BYTES) / PACKET_BYTES

    def shortened(self, seconds: float) -> "Case":
        """A shorter run, in which a background joins after a quarter of the time at the latest."""
        start_s = self.background_start_s
        if math.isfinite(start_s):
            start_s = min(start_s, seconds / 4)
        return replace(self, seconds=seconds, background_start_s=start_s)


_FOUR = Case("4", "Fig. 9", 12_300 * MEGABIT, 10_000)

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("1", "Fig. 6", 370 * MEGABIT, 5_000),
        Case("2", "Fig. 7", 1_230 * MEGABIT, 5_000),
        Case("3", "Fig. 8", 3_700 * MEGABIT, 5_000),
        _FOUR,
        Case("5", "Fig. 10", 37_000 * MEGABIT, 20_000),
        Case("6", "Fig. 11", 123_000 * MEGABIT, 100_000, seconds=1.5),
        replace(_FOUR, name="4S", figure="Fig. 14", nodes=16, background_at=8),
        replace(_FOUR, name="4L", figure="Fig. 15", nodes=60, background_at=30, window=20_000),
        replace(_FOUR, name="4R", figure="Fig. 16", tcp="reno"),
        replace(_FOUR, name="4N", figure="Fig. 17", tcp="newreno"),
        replace(_FOUR, name="4V", figure="Fig. 18", tcp="vegas"),
        replace(_FOUR, name="4V2", figure="Fig. 19", tcp="vegas", buffer=400),
    )
}

QUICK_SECONDS = 0.4
"""simulated time with `--quick`"""
QUICK_CASES = ("2", "4S")
