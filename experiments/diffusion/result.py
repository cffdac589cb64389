"""One run of the chain, on kernel TCP or in netsim: the same figures from both."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]
Method: TypeAlias = Literal["tcp", "dfc", "shaped"]
"""TCP alone; with control; with control and hosts that shape to eq. 9's rate"""
METHODS: Mapping[Method, str] = {"tcp": "-", "dfc": "DFC", "shaped": "DFC, hosts shape"}


@dataclass(frozen=True)
class Flow:
    """A greedy TCP flow between two hosts of a topology."""

    name: str
    sender: str
    receiver: str
    port: int
    start_s: float = 0.0


@dataclass(frozen=True)
class Plan:
    """Parameters that all runs share."""

    flows: tuple[Flow, ...]
    seconds: float
    settled_s: float
    """time from which on both flows are there and means are taken"""
    window_packets: int
    """the largest TCP window"""
    diffusion: str = "0.1"
    """D of eq. 3"""
    sample_s: float = 0.05


@dataclass(frozen=True)
class Result:
    """Measurements of a run. Time 0 is the start of the first flow."""

    where: str
    """`gfswitch` or `bmv2`, with kernel TCP; or `netsim`"""
    control: str
    """congestion control"""
    method: Method
    time_s: Series
    queues: NDArray[np.float64]
    """packets stored in the data's direction, by time and switch"""
    goodput_bps: dict[str, float]
    """goodput of each flow, while both are there"""
    drops: dict[str, int]
    """packets that a full queue refused, by switch"""
    retransmitted: dict[str, int]
    cpu_bound: tuple[str, ...] = ()
    """switches that lagged behind, each with its own figures"""

    @property
    def dropped(self) -> int:
        return sum(self.drops.values())

    @property
    def total_goodput_bps(self) -> float:
        return sum(self.goodput_bps.values())

    @property
    def fairness(self) -> float:
        """The slower flow's goodput, of the faster's."""
        return min(self.goodput_bps.values()) / max(self.goodput_bps.values())

    def mean_queues(self, settled_s: float) -> Series:
        """Mean packets stored in each switch while both flows are there."""
        means: Series = self.queues[self.time_s >= settled_s].mean(axis=0)
        return means
