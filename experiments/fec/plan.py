"""The cases of the experiment, and their results."""

from dataclasses import dataclass

from groupflow.files import variants
from groupflow.model.topology import Topology

CLIENT, SERVER = "h2", "h1"
RATE, DELAY_NS = 10_000_000, 10_000_000
"""bit/s and ns of each of the two links on the way: a round trip of 40 ms"""
MESSAGE, INTERVAL = 1000, 0.008
"""bytes and seconds: 1 Mb/s"""
CONNECTIONS = 6
CODE = "4+2"
STALL, PERIOD = 3.0, 6.0
"""seconds: duration of a connection's stall, and time from one stall to the next"""


@dataclass(frozen=True)
class Case:
    """A run: the losses or stalls, and the erasure coding."""

    loss: int
    """loss of each of the two links in parts per 10^9"""
    stalls: bool
    """whether one connection at a time stalls"""
    fec: str | None

    @property
    def title(self) -> str:
        trouble = "a connection stands still" if self.stalls else f"loss {2 * self.loss / 1e7:g} %"
        return f"{trouble}, {f'--fec {self.fec}' if self.fec else 'without'}"

    def topology(self) -> Topology:
        topology = variants.with_loss(variants.with_rate(variants.named("star"), RATE), self.loss)
        for host in (CLIENT, SERVER):
            topology = variants.with_delay(topology, host, "s1", DELAY_NS)
        return topology


@dataclass(frozen=True)
class Result:
    """Seconds from the writing of a message to the delivery of its last byte in order."""

    case: Case
    messages: int
    median: float
    p95: float
    p99: float
    longest: float
    made: int
    """bytes reconstructed from parity"""
    cpu_bound: tuple[str, ...]
    """switches that did not keep their schedule"""


def cases(quick: bool) -> list[Case]:
    """Pairs of a case without coding and a case with it."""
    losses = (25_000_000,) if quick else (5_000_000, 10_000_000, 25_000_000)
    troubles = [(loss, False) for loss in losses] + [(0, True)]
    return [Case(loss, stalls, fec) for loss, stalls in troubles for fec in (None, CODE)]
