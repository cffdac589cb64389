"""Results of the demo. `Report.to_json` is out/demo/report.json."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TypeAlias

from groupflow.lab.measure import LinkUse, SwitchHealth

Series: TypeAlias = tuple[tuple[float, int], ...]
"""seconds since the sender's first packet, and bytes then"""


@dataclass(frozen=True)
class ReceiverResult:
    name: str
    seconds: float | None
    """from the sender's first packet to the last byte in this receiver's file; None: never"""
    repaired_packets: int = 0
    error: str = ""
    """why the file is not complete, or not the sender's; empty: it is both"""
    series: Series = ()


@dataclass(frozen=True)
class AgentResult:
    name: str
    cache_peak_bytes: int
    """most bytes held at once that some branch had not acknowledged"""
    repairs_unicast: int
    repairs_multicast: int
    requests: int
    """repair requests received"""


@dataclass(frozen=True)
class QueueSample:
    seconds: float
    waiting: int
    """packets in the fullest queue"""
    full: int
    """packets refused by full queues so far"""
    lost: int
    """packets lost on links so far"""


@dataclass(frozen=True)
class Transport:
    """One transfer, by groupflow or by TCP, as the switches saw it."""

    seconds: float | None
    """time until the last receiver had all bytes"""
    file_bytes: int
    links: tuple[LinkUse, ...]
    health: tuple[SwitchHealth, ...]
    queues: tuple[QueueSample, ...]

    def copies(self, source: str, target: str) -> float:
        """The number of copies of the file on a link."""
        return next(use.copies for use in self.links if (use.source, use.target) == (source, target))

    @property
    def drops(self) -> tuple[int, int] | None:
        """Packets lost on links, and refused by full queues; None: the switches do not count them."""
        return (self.queues[-1].lost, self.queues[-1].full) if self.queues else None


@dataclass(frozen=True)
class Run:
    """The file over a network with one loss, by groupflow and by TCP."""

    loss: float
    """of every link, a fraction"""
    receivers: tuple[ReceiverResult, ...]
    agents: tuple[AgentResult, ...]
    retransmitted: int
    """packets that the sender repeated"""
    nacks: int
    """repair requests that no cache could answer"""
    group: Transport
    tcp: Transport | None
    """one connection to each receiver"""
    note: str = ""
    """where TCP got less than the file"""

    @property
    def name(self) -> str:
        return f"{self.loss * 100:g} % loss" if self.loss else "no loss"

    @property
    def cpu_bound(self) -> bool:
        return any(switch.cpu_bound for _, each in self.measured for switch in each.health)

    @property
    def repairs(self) -> int:
        """repairs that caches sent"""
        return sum(agent.repairs_unicast + agent.repairs_multicast for agent in self.agents)

    @property
    def repaired(self) -> int:
        """Packets that receivers got as repairs. One repair of a cache may reach many receivers."""
        return sum(receiver.repaired_packets for receiver in self.receivers)

    @property
    def measured(self) -> Iterator[tuple[str, Transport]]:
        yield "groupflow", self.group
        if self.tcp is not None:
            yield "TCP", self.tcp


@dataclass(frozen=True)
class Parameters:
    topology: str
    file: str
    file_bytes: int
    sha256: str
    members: int
    mode: str
    policy: str
    switch: str
    rate_bps: int
    """rate of the network's links; with BMv2, of the sender"""
    delay_ms: float
    """delay of the link between the split agents"""
    ideal_seconds: float
    """file size over link rate, plus the longest path's delay"""
    started: str
    """date and time, ISO 8601"""


@dataclass(frozen=True)
class Report:
    parameters: Parameters
    runs: tuple[Run, ...]
    notes: tuple[str, ...] = ()
    """remarks that a reader needs to judge the figures"""

    @property
    def cpu_bound(self) -> bool:
        return any(run.cpu_bound for run in self.runs)

    def problems(self) -> list[str]:
        """Reasons why the demo failed, one line each; empty if it did not."""
        found = [f"{each.name}: {each.error}" for run in self.runs for each in run.receivers if each.error]
        return found + [
            f"CPU-bound: {switch.name} could not keep its schedule with {name}, {run.name} "
            f"({switch.detail}); lower --rate or --members, or end other programs"
            for run in self.runs
            for name, each in run.measured
            for switch in each.health
            if switch.cpu_bound
        ]

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "cpu_bound": self.cpu_bound, "problems": self.problems()}
