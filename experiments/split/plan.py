"""The network, the load and the cases, for real networks and netsim alike; and the measurements of a run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from experiments.common.beside import VARIANTS
from groupflow.files import variants
from groupflow.model.topology import Topology
from groupflow.sim.model import Variant
from papers.icn2011.paper import LINK_BPS, MESSAGE_BYTES, METHODS, NAMES, SENDERS, Case, Method

Where: TypeAlias = Literal["kernel", "netsim", "netsim exact"]
"""`kernel`: the real network; `netsim`: E2E as a program over kernel TCP can do it; `netsim exact`: E2E as in
the paper"""
Message: TypeAlias = tuple[float, int]
"""(seconds after the start, bytes)"""
Stream: TypeAlias = tuple[str, str]
"""(sender, member)"""
Direction: TypeAlias = tuple[str, str]
"""(from, to): adjacent nodes"""

SENDER = SENDERS[0]
CONTROLS: Mapping[Variant, str] = {variant: control for control, variant in VARIANTS.items()}
"""the kernel's congestion control for netsim's TCP"""
MSS = 1448
"""payload of a full packet of 1,500 bytes, with timestamps"""


@dataclass(frozen=True)
class Plan:
    """The paper's network at a part of its rate. Messages shrink alike, so their times stay the paper's."""

    seconds: float
    members: tuple[int, ...]
    """members of each of the networks b, c and d"""
    tcp: tuple[Variant, ...]
    seed: int = 1
    load: float = 1.0
    """at 1, TCP has to fill the links; below, every method but unicast delivers all that it is given"""
    rate: int = 20_000_000
    """bit/s of every link"""
    methods: tuple[Method, ...] = METHODS
    many: bool = False
    """whether four senders, to a member of each other network, follow those of one sender, if any"""

    @property
    def message_bytes(self) -> int:
        """Bytes of a message in whole packets, as netsim sends it."""
        return -(-MESSAGE_BYTES * self.rate // LINK_BPS // MSS) * MSS

    def cases(self) -> Iterator[Case]:
        """Every case of the experiment."""
        for tcp in self.tcp:
            for members in self.members:
                for method in self.methods:
                    yield Case(method, self.load, members=members, tcp=tcp)
            if self.many:
                yield from (Case(m, self.load, senders=4, members=1, tcp=tcp) for m in self.methods)

    def topology(self, case: Case) -> Topology:
        """Fig. 5 with the members of a case, as Mininet builds it."""
        return variants.with_rate(variants.with_members(variants.named("fig5"), case.members), self.rate)

    def directions(self, case: Case) -> Iterator[Direction]:
        """Both directions of each link. The link of an agent to its switch is not one of the network."""
        topology = self.topology(case)
        agents = variants.agents(topology)
        for link in topology.links:
            one, other = link.a.node, link.b.node
            if agents.isdisjoint((one, other)):
                yield from ((one, other), (other, one))


def streams(case: Case) -> list[Stream]:
    """Every sender with each of its members."""
    return [(source, member) for source in case.sources for member in case.receivers(source)]


@dataclass(frozen=True)
class Result:
    """Measurements of one run, the same from kernel TCP and from netsim."""

    where: Where
    case: Case
    received_bps: Mapping[Stream, float]
    """payload that a member received of a stream"""
    link_bytes: Mapping[Direction, int]
    """bytes of frames in each direction of each link of the network"""
    cache_peak_bytes: Mapping[str, int]
    """the most that an agent held of all streams, by its switch; none with unicast"""
    dropped: int
    """packets that full queues refused"""
    cpu_bound: tuple[str, ...] = ()
    """switches that lagged behind, each with its own figures"""

    @property
    def throughput_bps(self) -> Mapping[str, float]:
        """Payload that a member received of all streams, by member."""
        total = dict[str, float]()
        for (_, member), bps in self.received_bps.items():
            total[member] = total.get(member, 0.0) + bps
        return total

    @property
    def least_bps(self) -> float:
        """The paper's reception throughput: the least that a member received of a stream; of several streams,
        the mean."""
        rates = self.received_bps.items()
        sources = {source for source, _ in self.received_bps}
        return fmean(min(bps for (source, _), bps in rates if source == each) for each in sources)

    @property
    def consumed_bytes(self) -> float:
        """The paper's bandwidth consumption: bytes on a sender's link; of several senders, the mean."""
        sources = {source for source, _ in self.received_bps}
        return fmean(sum(n for (one, _), n in self.link_bytes.items() if one == each) for each in sources)


def title(case: Case) -> str:
    senders = f", {case.senders} senders" if case.senders > 1 else ""
    return f"{NAMES[case.method]} to {3 * case.members}{senders}, {_control(case)}"


def form(case: Case) -> dict[str, str]:
    return {"method": case.method, "members": str(3 * case.members), "tcp": _control(case)}


def _control(case: Case) -> str:
    """The congestion control: a group session's own, or a TCP's."""
    return "its own" if case.method == "group" else CONTROLS[case.tcp]
