"""The cases of the experiment, and their outcomes."""

from dataclasses import dataclass, replace
from itertools import product

from groupflow.files import variants
from groupflow.model.topology import Topology
from groupflow.tree.members import Edges

SOURCE, SUBSCRIBER, OTHER = "h2", "h1", "h3"
"""`OTHER` sends to the subscriber, too, over the kernel's TCP"""
RATE_BPS, DELAY_NS = 20_000_000, 20_000_000
"""rate of the subscriber's link in bit/s, and its delay in ns each way"""
QUEUE_PACKETS = 100
"""queue before that link: about as many packets as are on their way in a round trip"""
RECORD = 1128
"""bytes that a datagram carries whole"""


@dataclass(frozen=True)
class Kind:
    """A kind of transport over an edge."""

    name: str
    edges: Edges
    control: str = "reno"
    """the source's congestion control, of those that a network namespace may choose"""
    parallel: int = 1


TCP = tuple(Kind(f"TCP, {control}", "stream", control) for control in ("reno", "bbr"))
SEVERAL = Kind("8 x TCP, reno", "stream", parallel=8)
QUIC = Kind("QUIC", "quic")
DATAGRAMS = Kind("QUIC datagrams", "datagrams")


@dataclass(frozen=True)
class Case:
    """A run: the transport, the losses or the other flow, and the load."""

    kind: Kind
    loss: int = 0
    """loss in parts per 10^9, each way"""
    beside: str | None = None
    """congestion control of another flow over the same link; None: no other flow"""
    offered_bps: int = 2 * RATE_BPS
    """the application's rate; above the link's rate, it writes as fast as the edge takes"""

    def topology(self) -> Topology:
        return variants.with_link(
            variants.named("star"),
            SUBSCRIBER,
            "s1",
            lambda spec: replace(spec, rate=RATE_BPS, delay_ns=DELAY_NS, loss=self.loss, queue=QUEUE_PACKETS),
        )


@dataclass(frozen=True)
class Outcome:
    """Measurements of a run."""

    case: Case
    goodput_bps: float
    beside_bps: float
    """goodput of the other flow"""
    missing: float
    """share of the sent bytes that was lost on the way and not sent again"""
    cpu_bound: tuple[str, ...]
    """switches that did not keep their schedule"""


LOSSES = (0, 1_000_000, 10_000_000, 30_000_000)
OFFERED_BPS = (5_000_000, 10_000_000, 15_000_000, 18_000_000)


def cases(quick: bool) -> list[Case]:
    """All cases in order, each with every kind in turn."""
    kinds = (*TCP, SEVERAL, QUIC)
    if quick:
        alone = [Case(kind, 10_000_000) for kind in (TCP[0], QUIC)]
        return [*alone, Case(DATAGRAMS, offered_bps=OFFERED_BPS[0])]
    lossy = [Case(kind, loss) for loss, kind in product(LOSSES, kinds)]
    shared = [Case(kind, beside=beside) for beside, kind in product(("reno", "cubic", "bbr"), kinds)]
    bare = [Case(DATAGRAMS, loss, offered_bps=rate) for loss in (0, 10_000_000) for rate in OFFERED_BPS]
    return [*lossy, *shared, *bare]
