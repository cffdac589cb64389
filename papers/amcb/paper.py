"""Table 1 of the paper, and the parameters of its runs."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from groupflow.sim.bone import Method, Repair

METHODS: tuple[Method, ...] = ("scheduled", "unscheduled", "unicast")
NAMES: dict[Method, str] = {
    "scheduled": "scheduled multicast",
    "unscheduled": "unscheduled multicast",
    "unicast": "unicast",
}
REPAIRS: dict[Repair, str] = {"go_back_n": "Go-Back-N", "selective": "selective repeat"}
RIMS = 3


@dataclass(frozen=True)
class Cell:
    """The paper's figures for a file and a method."""

    latency_s: float
    again_percent: float
    """bytes sent again over the file's bytes; of unicast, those to all receivers"""


TABLE: dict[int, dict[Method, Cell]] = {
    size: {method: Cell(*cell) for method, cell in zip(METHODS, cells, strict=True)}
    for size, cells in {
        85_200: ((18, 48.84), (25, 77.58), (45, 68.08)),
        194_557: ((49, 54.82), (57, 84.39), (83, 119.94)),
        667_346: ((188, 91.91), (289, 151.26), (305, 176.58)),
        1_626_000: ((439, 92.22), (675, 157.12), (740, 172.11)),
        2_119_680: ((580, 93.7), (886, 153.75), (970, 172.17)),
        5_203_487: ((1419, 101.74), (2441, 178.67), (2530, 203.8)),
        6_948_182: ((2012, 110.78), (3260, 179.3), (3285, 191.72)),
        9_635_840: ((2977, 121), (4534, 183.73), (4837, 215.4)),
    }.items()
}
"""by bytes of the file and method"""
SIZES = tuple(TABLE)
QUICK_SIZES = (85_200, 667_346, 1_626_000)
SEEDS, QUICK_SEEDS = 20, 2

Link: TypeAlias = Literal["inferred", "congested", "clean", "noisy", "bursts", "worse"]
"""that of Table 1; with other traffic; with four times as many bytes between two errors; with a quarter; with
losses in bursts; with losses that become more during a transfer"""


@dataclass(frozen=True)
class Case:
    """A file, and the method of sending it."""

    size: int
    method: Method = "scheduled"
    repair: Repair = "go_back_n"
    fixed: int | None = None
    """bytes of payload of every packet, where the size is fixed although the method adapts it"""
    rims: int = RIMS
    crowd: int = 16
    """number of rims above which not all answer"""
    link: Link = "inferred"
    forgets: bool = False
    """rims forget the packets from the position to which the hub goes back"""


@dataclass(frozen=True)
class Run:
    """One simulation."""

    case: Case
    seed: int
