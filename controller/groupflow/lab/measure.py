"""Bytes on the links, and the health of the switches, from counters before and after a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

from groupflow.errors import InvalidError
from groupflow.lab.network import Network
from groupflow.lab.switches import GfSwitch
from groupflow.model.topology import End, Topology

Direction: TypeAlias = tuple[str, str]
"""(from, to): adjacent nodes"""
Counters: TypeAlias = Mapping[Direction, int]
"""bytes carried so far by each direction of each link"""

MIN_IDLE = 0.05
"""Least idle share of a machine that is not CPU-bound, for switches that do not measure their lateness."""


@dataclass(frozen=True)
class LinkUse:
    """Traffic in one direction of a link."""

    name: str
    source: str
    target: str
    bytes: int
    copies: float
    """bytes on the wire divided by bytes of the file"""


@dataclass(frozen=True)
class SwitchHealth:
    """Verdict on a switch's figures: whether the switch was CPU-bound."""

    name: str
    cpu_bound: bool
    detail: str
    """the measurement behind the verdict"""


def link_bytes(network: Network) -> dict[Direction, int]:
    """Bytes on the wire of every link, per direction, as the nearest counter has them."""
    stats = {
        name: port_statistics(switch.stats())
        for name, switch in network.switches.items()
        if isinstance(switch, GfSwitch)
    }
    found: dict[Direction, int] = {}
    for link in network.topology.links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            by_switch = near.node in network.topology.switches  # else by a host: bytes received by the switch
            found[near.node, far.node] = _port(stats, near).sent if by_switch else _port(stats, far).received
    return found


@dataclass(frozen=True)
class Queues:
    """Packets in the queues of all switches, and those that are gone."""

    waiting: int
    """in the fullest queue"""
    full: int
    """refused by full queues so far"""
    lost: int
    """lost on links so far"""

    @property
    def dropped(self) -> int:
        return self.full + self.lost


def queues(network: Network) -> Queues:
    """The queues of gfswitches: other switches do not report them."""
    waiting, full, lost = 0, 0, 0
    for switch in network.switches.values():
        for port in ports(switch.stats()) if isinstance(switch, GfSwitch) else ():
            sides = _mapping(port, "in"), _mapping(port, "out")
            lost += sum(_integer(_mapping(side, "drops"), "loss") for side in sides)
            for queue in (sides[0].get("queue"), *cast(list[object], sides[1].get("queues"))):
                if queue is not None:
                    counters = cast(Mapping[str, object], queue)
                    waiting = max(waiting, _integer(counters, "packets"))
                    full += _integer(counters, "dropped")
    return Queues(waiting, full, lost)


def usage(topology: Topology, before: Counters, after: Counters, file_bytes: int) -> tuple[LinkUse, ...]:
    """Bytes in each direction between two readings, in the topology's order of links."""
    uses: list[LinkUse] = []
    for link in topology.links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            carried = after[near.node, far.node] - before[near.node, far.node]
            uses.append(LinkUse(link.name, near.node, far.node, carried, carried / file_bytes))
    return tuple(uses)


class HealthCheck:
    """Watches whether the switches keep up, from its creation to `result`."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._idle = CpuTimes.now()
        for switch in network.switches.values():
            if isinstance(switch, GfSwitch):
                switch.stats(reset=True)

    def lagging(self) -> tuple[str, ...]:
        """A line about each switch that did not keep up."""
        return tuple(f"{verdict.name}: {verdict.detail}" for verdict in self.result() if verdict.cpu_bound)

    def result(self) -> tuple[SwitchHealth, ...]:
        idle = CpuTimes.now().idle_since(self._idle)
        return tuple(
            switch_health(name, switch.stats())
            if isinstance(switch, GfSwitch)
            else SwitchHealth(name, idle < MIN_IDLE, f"{idle:.0%} of the machine's CPU time was idle")
            for name, switch in self._network.switches.items()
        )


def switch_health(name: str, stats: Mapping[str, object]) -> SwitchHealth:
    """The verdict of gfswitch itself. Raises InvalidError."""
    bound = stats.get("cpu_bound")
    if not isinstance(bound, bool):
        raise InvalidError(f"{name}: cpu_bound: {bound!r} is neither true nor false")
    lateness = _mapping(stats, "lateness")
    p99, limit = _integer(lateness, "p99_ns") / 1e6, _integer(lateness, "limit_ns") / 1e6
    kernel_drops = _integer(stats, "kernel_drops")
    detail = f"99 % of packets left within {p99:.2f} ms of their time, limit {limit:g} ms"
    if kernel_drops:
        detail += f"; the kernel dropped {kernel_drops} before it read them"
    return SwitchHealth(name, bound, detail)


def ports(stats: Mapping[str, object]) -> list[Mapping[str, object]]:
    found = stats.get("ports")
    if not isinstance(found, list):
        raise InvalidError(f"ports: {found!r} is no list")
    return cast(list[Mapping[str, object]], found)


@dataclass(frozen=True)
class PortBytes:
    received: int
    sent: int


def port_statistics(stats: Mapping[str, object]) -> dict[int, PortBytes]:
    """Bytes on the wire at each port of a gfswitch, from its statistics. Raises InvalidError."""
    found: dict[int, PortBytes] = {}
    for port in ports(stats):
        incoming, outgoing = _mapping(port, "in"), _mapping(port, "out")
        packets, received = _integer(incoming, "packets"), _integer(incoming, "bytes")
        lost = _integer(_mapping(incoming, "drops"), "loss")
        # An inbound link's loss is counted in packets only; the link carried them, at the mean size.
        received += received * lost // packets if packets else 0
        found[_integer(port, "port")] = PortBytes(received, _integer(outgoing, "bytes"))
    return found


@dataclass(frozen=True)
class CpuTimes:
    """Clock ticks of the whole machine since boot."""

    idle: int
    total: int

    @classmethod
    def now(cls) -> "CpuTimes":
        return cls.parse(Path("/proc/stat").read_text())

    @classmethod
    def parse(cls, text: str) -> "CpuTimes":
        # proc(5): user nice system idle iowait irq softirq steal guest...; guest time is within user time.
        ticks = [int(field) for field in text.split("\n", 1)[0].split()[1:9]]
        return cls(ticks[3] + ticks[4], sum(ticks))

    def idle_since(self, earlier: "CpuTimes") -> float:
        """Share of the time since `earlier` in which no CPU had work."""
        total = self.total - earlier.total
        return (self.idle - earlier.idle) / total if total else 1.0


def _port(stats: Mapping[str, Mapping[int, PortBytes]], end: End) -> PortBytes:
    """The counters of a switch's port; for switches that have none of their own, the kernel's."""
    if end.node in stats:
        return stats[end.node][end.port]
    found = interfaces().get(end.interface)
    if found is None:
        raise InvalidError(f"/proc/net/dev: no interface {end.interface}")
    return PortBytes(found[0], found[8])


def interfaces(table: Path = Path("/proc/net/dev")) -> dict[str, list[int]]:
    """The kernel's counters of each interface: bytes and packets received are 0 and 1, sent 8 and 9."""
    rows = (line.partition(":") for line in table.read_text().splitlines()[2:])
    return {name.strip(): list(map(int, counters.split())) for name, _, counters in rows}


def _mapping(form: Mapping[str, object], field: str) -> Mapping[str, object]:
    value = form.get(field)
    if not isinstance(value, dict):
        raise InvalidError(f"{field}: {value!r} is no object")
    return cast(Mapping[str, object], value)


def _integer(form: Mapping[str, object], field: str) -> int:
    value = form.get(field)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidError(f"{field}: {value!r} is no integer")
    return value
