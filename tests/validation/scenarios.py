"""The compared scenarios: lines of nodes, and TCP flows over them."""

from dataclasses import dataclass, field

VARIANTS = ("tahoe", "reno", "newreno", "sack", "vegas")


@dataclass(frozen=True)
class Link:
    """Joins two neighbours, with a drop-tail queue at each end."""

    megabits: float
    delay_ms: float
    packets: int  # ns-2's queue-limit: the packet being sent counts

    def words(self) -> str:
        """The link's parameters as both simulators' scripts read them."""
        return f"{self.megabits:g} {self.delay_ms:g} {self.packets}"


@dataclass(frozen=True)
class Flow:
    """A greedy TCP flow from one node to another."""

    variant: str
    source: int
    target: int
    start: float  # s
    window: int  # packets
    delayed_ack: bool = False

    @property
    def sink(self) -> str:
        """ns-2's name for the receiver, after `Agent/TCPSink`."""
        return ("/Sack1" if self.variant == "sack" else "") + ("/DelAck" if self.delayed_ack else "")


@dataclass(frozen=True)
class Scenario:
    """A line and its flows."""

    name: str
    title: str
    links: tuple[Link, ...]
    flows: tuple[Flow, ...]
    until: float  # s
    sample: float  # s
    full: tuple[int, ...] = field(default=(0,))  # links whose queue can overflow


def bottleneck(
    name: str, title: str, variant: str, buffer: int, flows: int = 1, delayed: bool = False
) -> Scenario:
    """10 Mb/s and 20 ms behind 100 Mb/s and 1 ms: 37 full packets are a bandwidth-delay product."""
    starts = (0.0, 1.7)
    return Scenario(
        f"{name}-{variant}",
        title,
        (Link(100, 1, 1000), Link(10, 20, buffer)),
        tuple(Flow(variant, 0, 2, starts[n], 1000, delayed) for n in range(flows)),
        until=100,
        sample=0.1,
        full=(1,),
    )


def line(name: str, title: str, variant: str, megabits: float, window: int, buffer: int = 1800) -> Scenario:
    """The 30-node line of Takano et al., section 4.1, without diffusion."""
    return Scenario(
        f"{name}-{variant}",
        title,
        (Link(megabits, 0.1, buffer),) * 29,
        (Flow(variant, 0, 29, 0, window), Flow(variant, 14, 29, 0.1, window)),
        until=3,
        sample=0.01,
        full=(0, 14),
    )


def scenarios() -> list[Scenario]:
    """All scenarios, the fast ones first."""
    runs: list[Scenario] = []
    for variant in VARIANTS:
        runs.append(bottleneck("one", "one flow, buffer of 50", variant, 50))
        runs.append(bottleneck("small", "one flow, buffer of 10", variant, 10))
        runs.append(bottleneck("two", "two flows, buffer of 50", variant, 50, flows=2))
        runs.append(bottleneck("delayed", "one flow, buffer of 50, delayed ACK", variant, 50, delayed=True))
    runs.sort(key=lambda scenario: scenario.title)
    runs += [line("line1", "30-node line, 370 Mb/s", "tahoe", 370, 5_000)]
    runs += [line("line2", "30-node line, 1.23 Gb/s", "tahoe", 1_230, 5_000)]
    runs += [line("line3", "30-node line, 3.7 Gb/s", "tahoe", 3_700, 5_000)]
    runs += [line("line4", "30-node line, 12.3 Gb/s", variant, 12_300, 10_000) for variant in VARIANTS]
    return runs
