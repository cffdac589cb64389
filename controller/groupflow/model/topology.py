"""A network read from one YAML file: hosts, switches and links, with ports, addresses and paths worked out.

The same file describes the network to Mininet, the controller and the simulator. Reading it writes nothing.
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address
from pathlib import Path

from groupflow import units
from groupflow.errors import InvalidError

CPU_PORT = 510
"""The switch port to the controller, `--cpu-port` of the switch."""
DROP_PORT = 511
"""The switch port that discards, `--drop-port` of the switch."""
QUEUES = 8
"""Queues of each port, `--priority-queues` of the switch: 7 is for feedback, 1 to 6 for controlled flows."""


class TopologyError(InvalidError):
    """A topology that cannot be used: one line naming the file, the key and the cure."""


@dataclass(frozen=True)
class LinkSpec:
    """Effects of a link on packets, in each direction."""

    rate: int | None
    """bit/s; None: unlimited"""
    delay_ns: int
    loss: int
    """parts per 10^9"""
    queue: int
    """packets"""


@dataclass(frozen=True)
class End:
    """One end of a link. A host's port is 0."""

    node: str
    port: int

    @property
    def interface(self) -> str:
        """The network interface's name under Mininet."""
        return f"{self.node}-eth{self.port}"


@dataclass(frozen=True)
class Step:
    """One change of a link while the network runs."""

    at_ns: int
    """since the network is up"""
    change: str
    """as gfswitch takes it: `rate=1mbit,delay=20ms`, `down`"""


@dataclass(frozen=True)
class Link:
    a: End
    b: End
    spec: LinkSpec
    schedule: tuple[Step, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.a.node}-{self.b.node}"


@dataclass(frozen=True)
class Switch:
    name: str
    device_id: int
    grpc: str
    """host:port of the switch's P4Runtime server"""
    agent: str | None
    """the host of the switch's cache agent"""
    mac: str
    """router MAC: the destination address of packets from hosts and other switches"""
    ports: Mapping[int, End]
    """the node at the other end of each port, by port"""
    program: Path | None = None
    """a P4 program of one's own; None: groupflow's, which the controller sets"""
    p4info: Path | None = None
    entries: Path | None = None
    """what the program's tables hold at first"""

    @property
    def grpc_address(self) -> tuple[str, int]:
        return units.parse_address(self.grpc)

    def interface(self, port: int) -> str:
        return End(self.name, port).interface


@dataclass(frozen=True)
class Host:
    name: str
    ip: IPv4Address
    prefix: int
    mac: str
    gateway: IPv4Address
    gateway_mac: str
    switch: str
    port: int
    """the switch's port that leads to this host"""
    fixed_gateway: bool = False
    """whether the host is told its gateway's MAC, and does not ask for it"""
    commands: tuple[str, ...] = ()
    """run to their end when the host is set up"""
    programs: tuple[str, ...] = ()
    """run beside the network"""

    @property
    def interface(self) -> str:
        return End(self.name, 0).interface


@dataclass(frozen=True)
class Topology:
    """The whole network. Built by `files.topology`, which refuses topologies that would not work."""

    name: str
    description: str
    switches: Mapping[str, Switch]
    hosts: Mapping[str, Host]
    links: tuple[Link, ...]
    pcap: frozenset[str] = frozenset()
    """switches whose frames are captured"""

    def host_at(self, switch: str, port: int) -> Host | None:
        """The host behind a switch's port; None where the port leads to a switch, or nowhere."""
        end = self.switches[switch].ports.get(port)
        return self.hosts.get(end.node) if end else None

    @staticmethod
    def is_foreign(host: Host) -> bool:
        """Whether a host is set up for a program of one's own: groupflow's would not be its gateway."""
        return host.prefix != 24 or host.fixed_gateway or int(host.gateway) & 0xFF != 254

    def port_to(self, switch: str, neighbour: str) -> int:
        """The port of `switch` that leads to an adjacent node (the lowest, of several)."""
        return next(port for port, end in self.switches[switch].ports.items() if end.node == neighbour)

    def neighbours(self, switch: str) -> tuple[str, ...]:
        """Adjacent switches, each once, ordered by name."""
        ends = self.switches[switch].ports.values()
        return tuple(sorted({end.node for end in ends if end.node in self.switches}))

    def agent_port(self, switch: str) -> int:
        """The port that leads to the switch's cache agent; 0: the switch has none."""
        agent = self.switches[switch].agent
        return self.port_to(switch, agent) if agent else 0

    def link_between(self, one: str, other: str) -> Link:
        """The link at the port that `port_to` returns."""
        return self._links[one, other]

    def path(self, start: str, goal: str) -> tuple[str, ...] | None:
        """Switches from one to another, both included, along a shortest path; None when there is none."""
        parents = self._trees[start]
        if goal not in parents:
            return None
        path = [goal]
        while path[-1] != start:
            path.append(parents[path[-1]])
        return tuple(reversed(path))

    @cached_property
    def _links(self) -> dict[tuple[str, str], Link]:
        found: dict[tuple[str, str], Link] = {}
        for link in self.links:
            found.setdefault((link.a.node, link.b.node), link)
            found.setdefault((link.b.node, link.a.node), link)
        return found

    @cached_property
    def _trees(self) -> dict[str, dict[str, str]]:
        return {name: self._shortest_paths(name) for name in self.switches}

    def _shortest_paths(self, root: str) -> dict[str, str]:
        """Parent of each reachable switch in the tree of `root`: fewest hops, least delay, then by name."""
        parents: dict[str, str] = {}
        todo = [(0, 0, root, root)]
        while todo:
            hops, delay, switch, parent = heapq.heappop(todo)
            if switch in parents:
                continue
            parents[switch] = parent
            for neighbour in self.neighbours(switch):
                step = self.link_between(switch, neighbour).spec.delay_ns
                heapq.heappush(todo, (hops + 1, delay + step, neighbour, switch))
        return parents
