"""A network read from one YAML file: hosts, switches and links, with ports, addresses and paths worked out.

The same file describes the network to Mininet, the controller and the simulator. Reading it writes nothing.
"""

import heapq
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast

from groupflow import units
from groupflow.errors import InvalidError
from groupflow.model.fields import (
    ANY_RATE,
    DELAY,
    FLAT,
    LOSS,
    Delay,
    InFile,
    Length,
    Loss,
    Packets,
    Range,
    Rate,
    Written,
    matching,
    number_or,
    text_like,
)

CPU_PORT = 510
"""The switch port to the controller, `--cpu-port` of the switch."""
DROP_PORT = 511
"""The switch port that discards, `--drop-port` of the switch."""
QUEUES = 8
"""Queues of each port, `--priority-queues` of the switch: 7 is for feedback, 1 to 6 for controlled flows."""
NAME = re.compile(r"[a-z][a-z0-9]{0,9}")  # `<name>-eth12` must fit Linux's 15 characters
_TEXT = {"type": "string"}
LAST_DEVICE_ID = 0xFFFF
"""of a simulated switch; of one that runs: 255"""


class TopologyError(InvalidError):
    """A topology that cannot be used: one line naming the file, the key and the cure."""


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no name; write it as text")
    if not NAME.fullmatch(value):
        raise ValueError("bad name; use a letter, then letters and digits, at most 10, all lower case")
    return value


def read_address(value: object) -> IPv4Interface:
    """The address of a host whose gateway is its switch."""
    address = _interface(value)
    if address.network.prefixlen != 24 or int(address.ip) & 0xFF in (0, 254, 255):
        raise ValueError(f"'{address}' will not do; write a /24 address ending in .1 to .253")
    return address


def _interface(value: object) -> IPv4Interface:
    if ":" in str(value):
        raise ValueError(f"{value!r} is IPv6; write it as `ip6`, beside an IPv4 `ip`")
    try:
        address = IPv4Interface(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is no address; write one like 10.0.1.1/24") from None
    ip = address.ip
    if ip.is_multicast or ip.is_loopback or ip.is_reserved or int(ip) < 1 << 24:
        raise ValueError(f"{value!r} is no host's address; write one like 10.0.1.1/24")
    return address


def grpc_address(value: object) -> str:
    """HOST:PORT; a port alone is on this machine."""
    text = f"127.0.0.1:{value}" if type(value) is int else value if isinstance(value, str) else ""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise ValueError(f"{value!r} is no address; write a port or HOST:PORT")
    return text


def _address(kind: Callable[[str], object], example: str, schema: Mapping[str, Any]) -> Written:
    def parse(value: object) -> object:
        try:
            return kind(str(value))
        except ValueError:
            raise ValueError(f"{value!r} is no address; write one like {example}") from None

    return Written(parse, f"an address like {example}", schema)


def _mac(value: object) -> str:
    digits = value.lower() if isinstance(value, str) else ""
    if not re.fullmatch("([0-9a-f]{2}[:-]?){5}[0-9a-f]{2}", digits):
        raise ValueError(f"{value!r} is no MAC address; write one like '08:00:00:00:01:11'")
    if int(digits[:2], 16) & 1:
        raise ValueError(f"{value!r} is a group's MAC address; write a host's, like '08:00:00:00:01:11'")
    return bytes.fromhex(re.sub("[:-]", "", digits)).hex(":")


def _path_of(what: str) -> Written:
    cure = f"the path of {what}"

    def parse(value: object) -> Path | None:
        if not isinstance(value, str):
            raise ValueError(f"{value!r} will not do; write {cure}")
        return Path(value) if value else None

    return Written(parse, cure, _TEXT, show=lambda path: str(path.absolute()))


def _named(value: object) -> object:
    """Names as they are; None: all."""
    if isinstance(value, bool):
        return None if value else ()
    return tuple(cast(list[object], value)) if isinstance(value, list) else value


def _text_of(written: Written) -> Written:
    """Reads a quantity, and keeps it as gfswitch takes it."""
    return Written(lambda value: written.show(written.parse(value)), written.cure, written.schema)


_REPEATED = r"\{[0-9]+\.\.[0-9]+\}"


@dataclass(frozen=True)
class _Repeatable:
    """Allows a repetition in place of a number in a JSON schema: the reader carries it out beforehand."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [handler(schema), text_like(_REPEATED)]}


_NAMES = rf"{NAME.pattern}|[a-z][a-z0-9]*({_REPEATED}[a-z0-9]*)+"
_PATTERN = {"type": "string", "allOf": [text_like(_NAMES)]}  # a bare one allows all other keys
_OCTETS = rf"(([0-9]{{1,3}}|{_REPEATED})\.){{3}}([0-9]{{1,3}}|{_REPEATED})"
_ADDRESS = text_like(f"{_OCTETS}/[0-9]{{1,2}}")
_MAC = Written(
    _mac,
    "a MAC address like '08:00:00:00:01:11'",
    text_like(r"(([0-9a-fA-F]{2}|\{[0-9]+\.\.[0-9]+\})[:-]?){5}.*"),
)
_FLAG_OR_NAMES = {"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]}
_GRPC = number_or(1, 65535, f".+:[0-9]{{1,5}}|{_REPEATED}")
Name: TypeAlias = Annotated[str, Written(_name, "the name of a node", _PATTERN)]
Tcp: TypeAlias = Annotated[
    str | None, matching("[a-z0-9_-]{1,15}", "a congestion control of the kernel, as in `tcp: cubic`")
]
"""the congestion control of a host's TCP; None: the machine's"""
_Commands: TypeAlias = Annotated[tuple[str, ...], InFile(cure="`- a shell's command` for each")]


@dataclass(frozen=True)
class LinkSpec:
    """Effects of a link on packets, in each direction."""

    rate: Rate = 10**8
    """bit/s; None: unlimited"""
    delay_ns: Annotated[Delay, InFile("delay")] = 10**7
    loss: Loss = 0
    """parts per 10^9"""
    queue: Packets = 200


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
    """One change of a link while the network runs; None: stays."""

    at_ns: Annotated[Delay, InFile("at")]
    """since the network is up"""
    rate: Annotated[str | None, _text_of(ANY_RATE)] = None
    delay: Annotated[str | None, _text_of(DELAY)] = None
    loss: Annotated[str | None, _text_of(LOSS)] = None
    state: Annotated[Literal["up", "down"] | None, InFile()] = None

    @property
    def change(self) -> str:
        """As gfswitch takes it: `rate=1mbit,delay=20ms`, `down`."""
        named = {"rate": self.rate, "delay": self.delay, "loss": self.loss}
        texts = [f"{key}={text}" for key, text in named.items() if text is not None]
        return ",".join(texts if self.state is None else [*texts, self.state])


@dataclass(frozen=True, kw_only=True)
class LinkSettings:
    """A link as a file describes it."""

    ends: Annotated[tuple[str, ...], Length(2, 2), InFile(cure="two names, as in `ends: [h1, s1]`")]
    spec: Annotated[LinkSpec, FLAT] = LinkSpec()


@dataclass(frozen=True, kw_only=True)
class RealLinkSettings(LinkSettings):
    """A link of a network that runs."""

    schedule: Annotated[tuple[Step, ...], InFile(cure="`- {at: 5s, rate: 1mbit}` for each change")] = ()


@dataclass(frozen=True)
class Link:
    a: End
    b: End
    spec: LinkSpec
    schedule: tuple[Step, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.a.node}-{self.b.node}"


@dataclass(frozen=True, kw_only=True)
class SwitchSettings:
    """A switch as a file describes it; what is None is chosen."""

    device_id: Annotated[int | None, Range(1, LAST_DEVICE_ID)] = None
    grpc: Annotated[str | None, Written(grpc_address, "a port or HOST:PORT", _GRPC)] = None
    """host:port of the switch's P4Runtime server"""
    agent: Annotated[str | None, InFile(cure="the name of a host", null=True)] = None
    """the host of the switch's cache agent"""


@dataclass(frozen=True, kw_only=True)
class ProgramFiles:
    """A P4 program of one's own; None: groupflow's, which the controller sets."""

    program: Annotated[Path | None, _path_of("a P4 program, or of its JSON")] = None
    p4info: Annotated[Path | None, _path_of("the P4Info that p4c made")] = None


@dataclass(frozen=True, kw_only=True)
class NetworkFiles(ProgramFiles):
    """A network that Mininet, the controller and the simulator read: its program, and captures."""

    pcap: Annotated[
        tuple[str, ...] | None, Written(_named, "true, or names of switches: [s1, s2]", _FLAG_OR_NAMES)
    ] = ()
    """switches whose frames are captured; None: all"""
    tcp: Tcp = None
    """of hosts that name none"""


@dataclass(frozen=True, kw_only=True)
class RealSwitchSettings(ProgramFiles, SwitchSettings):
    """A switch that runs."""

    device_id: Annotated[int | None, Range(0, 255), _Repeatable()] = None
    entries: Annotated[Path | None, _path_of("entries, as in `entries: s1-runtime.json`")] = None
    """what the program's tables hold at first"""


@dataclass(frozen=True, kw_only=True)
class Switch(RealSwitchSettings):
    name: str
    device_id: int = field()
    grpc: str = field()
    mac: str
    """router MAC: the destination address of packets from hosts and other switches"""
    ports: Mapping[int, End]
    """the node at the other end of each port, by port"""

    @property
    def grpc_address(self) -> tuple[str, int]:
        return units.parse_address(self.grpc)

    def interface(self, port: int) -> str:
        return End(self.name, port).interface


@dataclass(frozen=True, kw_only=True)
class HostSettings:
    """A host as a file describes it; what is None is chosen."""

    address: Annotated[
        IPv4Interface | None, Written(_interface, "an address like 10.0.1.1/24", _ADDRESS), InFile("ip")
    ] = None


@dataclass(frozen=True, kw_only=True)
class RealHostSettings(HostSettings):
    """A host of a network that runs."""

    mac: Annotated[str | None, _MAC] = None
    gateway: Annotated[IPv4Address | None, _address(IPv4Address, "10.0.1.254", text_like(_OCTETS))] = None
    gateway_mac: Annotated[str | None, _MAC] = None
    """the gateway's MAC address, which the host is told; None: it asks for it"""
    ip6: Annotated[IPv6Interface | None, _address(IPv6Interface, "fd00:1::1/64", _TEXT)] = None
    """beside the IPv4 address, for programs that forward IPv6; None: the host has no IPv6"""
    gateway6: Annotated[IPv6Address | None, _address(IPv6Address, "fd00:1::fe", _TEXT)] = None
    commands: _Commands = ()
    """run to their end when the host is set up"""
    programs: _Commands = ()
    """run beside the network"""
    tcp: Tcp = None


@dataclass(frozen=True, kw_only=True)
class Host(RealHostSettings):
    name: str
    address: IPv4Interface = field()
    mac: str = field()
    gateway: IPv4Address = field()
    gateway_mac: str = field()
    switch: str
    port: int
    """the switch's port that leads to this host"""
    fixed_gateway: bool = False
    """whether the host is told its gateway's MAC, and does not ask for it"""

    @property
    def ip(self) -> IPv4Address:
        return self.address.ip

    @property
    def prefix(self) -> int:
        return self.address.network.prefixlen

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
        other_gateway = host.fixed_gateway or int(host.gateway) & 0xFF != 254
        return host.prefix != 24 or other_gateway or host.ip6 is not None

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
