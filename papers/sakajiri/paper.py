"""The paper's simulation: the parameters in its text, and chosen link parameters, which are not in the
text; and the changes that studies make to round trips, losses, and times of clients."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from groupflow.control.gather.connections import GAMMA, XI
from groupflow.control.gather.model import Client
from groupflow.sim.gather import Sender
from groupflow.sim.model import Variant

Method: TypeAlias = Literal["both", "buffer", "comparison", "kernel-1", "kernel-4", "kernel-16", "climber"]
Tcp: TypeAlias = Variant | Literal["bbr"]
"""netsim's, and one that only kernels have"""
NAMES: dict[Method, str] = {
    "both": "proposal",
    "buffer": "buffer tuning only",
    "comparison": "comparison",
    "kernel-1": "no tuning, 1 connection",
    "kernel-4": "no tuning, 4 connections",
    "kernel-16": "no tuning, 16 connections",
    "climber": "throughput climber",
}
TCPS: dict[Tcp, str] = {"cubic": "CUBIC", "compound": "Compound TCP", "vegas": "Vegas", "reno": "Reno"}

MEGABIT = 10**6
HIGH_BPS = MEGABIT
LOW_BPS = MEGABIT // 2
BUFFER = 100_000
"""bytes of receive buffer on the server (Table I)"""
TABLE_II: dict[Tcp, tuple[float, float]] = {
    "cubic": (1.67, 0.83),
    "compound": (1.66, 0.83),
    "vegas": (1.62, 0.81),
    "reno": (1.60, 0.80),
}
"""Mb/s of high and of low priority clients"""

LOW, HIGH = ("t0", "t1", "t2"), ("t3", "t4", "t5")
"""Terminal 3 is of high priority (section IV.B); the others' are in a figure that the text lacks"""
CLIENTS: tuple[Client, ...] = (
    *(Client(name, LOW_BPS, priority=0) for name in LOW),
    *(Client(name, HIGH_BPS, priority=1) for name in HIGH),
)
TARGETS = {client.name: client.target / MEGABIT for client in CLIENTS}

SEEDS = 5
QUICK_SEEDS = 1


@dataclass(frozen=True)
class Scale:
    """Durations of a simulation, in seconds."""

    seconds: float
    interference_s: tuple[float, float]
    """its start and end"""
    warm_up_s: float
    """time at the start that does not count: connections begin"""


FULL = Scale(600.0, (100.0, 500.0), 10.0)
"""the paper's durations"""
QUICK = Scale(120.0, (20.0, 100.0), 2.0)


@dataclass(frozen=True)
class Links:
    """Link parameters that the paper's figures 2 and 4 may give and its text does not: chosen, and varied by
    the study `range`."""

    rtt_ms: int = 100
    """round trip of each client, without queues; 100 KB in the ratio 2:1 give Table II at about 106 ms"""
    bottleneck_mbps: float = 10.0
    """rate between Router 2 and Router 3; all other links have 100 Mb/s"""
    queue: int = 50
    """packets in the queue of every link (ns-2's default)"""
    high_loss: float = 0.001
    """loss ratio on the links of high priority terminals"""
    low_loss: float = 0.0001
    """loss ratio on the links of low priority terminals, which have "high available bandwidth\""""
    rivals: int = 4
    """greedy Reno connections of each interference terminal"""
    rival_rtt_ms: int = 80
    connections: int = 16
    """the most connections of a client"""


@dataclass(frozen=True)
class Case:
    """One setting of one simulation."""

    method: Method
    tcp: Tcp = "reno"
    interference: bool = False
    """whether this is Model 2 instead of Model 1"""
    links: Links = Links()
    situation: str = "paper"
    """the paper's, or one of a study: `SITUATIONS`"""
    gamma: float = GAMMA
    """initialization parameter of the proposal"""
    xi: float = XI
    """safety coefficient of the proposal; infinite: none, so that the target alone decides"""


@dataclass(frozen=True)
class Run:
    """One simulation."""

    case: Case
    seed: int
    scale: Scale = FULL

    @property
    def seconds(self) -> float:
        return self.scale.seconds

    @property
    def interference_s(self) -> tuple[float, float]:
        return self.scale.interference_s


Senders = Callable[[float], tuple[Sender, ...]]
"""the clients of a run of so many seconds"""


@dataclass(frozen=True)
class Situation:
    """Models 1 and 2, with the changes of a study."""

    buffer: int = BUFFER
    senders: Senders = lambda _: tuple(Sender(client, client.name) for client in CLIENTS)
    rtts_ms: Callable[[Links], Mapping[str, int]] = lambda links: {c.name: links.rtt_ms for c in CLIENTS}
    losses: Callable[[Links], Mapping[str, float]] = lambda links: (
        dict.fromkeys(LOW, links.low_loss) | dict.fromkeys(HIGH, links.high_loss)
    )
    stretched: Callable[[float], tuple[tuple[float, str, int], ...]] = lambda _: ()
    """clients whose round trip grows: time, name, and ms from then on; in a run of so many seconds"""


NEAR_MS, FAR_MS = 20, 300
HEAVY_LOSS = 0.05


JOINS = {"t4": 1 / 6, "t5": 1 / 3}
LEAVES = {"t0": 2 / 3, "t4": 5 / 6}
"""times of departure, as parts of the run"""


def _coming_and_going(seconds: float) -> tuple[Sender, ...]:
    return tuple(
        Sender(c, c.name, JOINS.get(c.name, 0.0) * seconds, LEAVES.get(c.name, float("inf")) * seconds)
        for c in CLIENTS
    )


BUFFERS = {f"buffer-{factor}": factor * BUFFER for factor in (1, 2, 4, 8)}
"""bytes of the server's buffer, from Table I's on"""
SITUATIONS: dict[str, Situation] = {
    "paper": Situation(),
    "jump": Situation(
        rtts_ms=lambda links: {c.name: NEAR_MS if c.name == "t3" else links.rtt_ms for c in CLIENTS},
        stretched=lambda seconds: ((seconds / 2, "t3", FAR_MS),),
    ),
    "churn": Situation(senders=_coming_and_going),
    "loss": Situation(losses=lambda _: dict.fromkeys((*LOW, *HIGH), HEAVY_LOSS)),
    **{name: Situation(buffer=buffer) for name, buffer in BUFFERS.items()},
}
"""by the name that a case has"""
