"""A scenario as a value: a network, the programs of its switches, and the traffic.

Quantities are integers in base units: nanoseconds, bit/s, bytes, parts per 10^9. A field that a scenario file
has, too, is `Annotated` with how it is written there; `forms` makes the forms of files of that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, cast

from groupflow import units
from groupflow.data import P4_JSON, P4INFO
from groupflow.errors import InvalidError
from groupflow.model.fields import (
    ANY_RATE,
    DELAY,
    FLAG,
    FLAT,
    PACKETS,
    SIZE,
    Delay,
    FiniteRate,
    InFile,
    Length,
    Loss,
    Packets,
    Range,
    Written,
)
from groupflow.model.flow import FlowSettings
from groupflow.model.session import Mode, Policy
from groupflow.model.topology import Topology
from groupflow.sim.bone import Bone
from groupflow.sim.tree import Tree

if TYPE_CHECKING:
    from finsy.proto import p4r

    from groupflow.control.diffusion.plan import Part

Kind: TypeAlias = Literal["p4", "fifo", "agent", "broadcast"]
Variant: TypeAlias = Literal["tahoe", "reno", "newreno", "sack", "vegas", "cubic", "compound"]
VARIANTS: tuple[Variant, ...] = ("tahoe", "reno", "newreno", "sack", "vegas", "cubic", "compound")
Pattern: TypeAlias = Literal["constant", "poisson", "on_off"]
Profile: TypeAlias = Literal["rfc", "ns2"]

SECOND = 10**9


class ScenarioError(InvalidError):
    """A scenario that cannot be run: one line naming the file, the key and the cure."""


_HOST = "the name of a host"
_PAIR = {"type": "array", "items": DELAY.schema, "minItems": 2, "maxItems": 2}


def _span(value: object) -> int:
    if not (span := units.parse_delay(value)):
        raise units.UnitError("is zero; write a time such as 1ms")
    return span


def _downs(value: object) -> tuple[tuple[int, int], ...]:
    cure = "write pairs of times in order, such as [[1s, 1.5s]]"
    downs: list[tuple[int, int]] = []
    for item in cast(list[object], value) if isinstance(value, list) else [None]:
        pair = cast(list[object], item) if isinstance(item, list) else []
        if len(pair) != 2:
            raise ValueError(f"{item!r} is no pair of times; {cure}")
        start, end = (units.parse_delay(time) for time in pair)
        if start >= end or (downs and start < downs[-1][1]):
            raise ValueError(f"{item!r} is not in order; {cure}")
        downs.append((start, end))
    return tuple(downs)


def _threshold(value: object) -> int:
    """A number of packets, with its unit."""
    if isinstance(value, int):
        cure = f"write a number with its unit, as in '{max(value, 1)} packets'"
        raise units.UnitError(f"{value!r} cannot be read; {cure}")
    return units.parse_packets(value)


_SPAN = Written(_span, "a time such as 1ms", DELAY.schema, show=units.format_delay)
_RATE_OR_0 = Written(
    lambda value: units.parse_rate(value) or 0,
    ANY_RATE.cure,
    ANY_RATE.schema,
    show=lambda rate: units.format_rate(rate or None),
)
Downs: TypeAlias = Annotated[
    tuple[tuple[int, int], ...],
    Written(_downs, "pairs of times, such as [[1s, 1.5s]]", {"type": "array", "items": _PAIR}),
]
Threshold: TypeAlias = Annotated[
    int | None, Written(_threshold, "packets, as in '40 packets'", PACKETS.schema["anyOf"][1])
]
Receivers: TypeAlias = Annotated[
    tuple[str, ...], Length(1, 1 << 20), InFile("to", "at least one, as in `to: [h2, h3]`")
]
Source: TypeAlias = Annotated[str, InFile("from", _HOST)]
Start: TypeAlias = Annotated[Delay, InFile("start")]


@dataclass(frozen=True)
class GilbertElliott:
    """Losses in bursts; proportions in parts per 10^9, for each frame."""

    to_bad: Loss
    to_good: Loss
    good_loss: Annotated[Loss, InFile("good")] = 0
    bad_loss: Annotated[Loss, InFile("bad")] = SECOND


@dataclass(frozen=True)
class LinkExtra:
    """Properties of a link that only the simulator has."""

    burst_loss: GilbertElliott | None = None
    """replaces the topology's independent losses"""
    down_ns: Annotated[Downs, InFile("down")] = ()
    """times (from, until) when the link is down"""
    queue_bytes: Annotated[int | None, Range(1), SIZE] = None
    error_bytes: int | None = None
    """mean bytes from one bit error to the next, in frames that a broadcast node sends on the link"""


@dataclass(frozen=True)
class Arrivals:
    """Times of the packets of a UDP source: at its rate, unless set otherwise."""

    pattern: Annotated[Pattern, InFile("arrivals")] = "constant"
    on_ns: Annotated[int, _SPAN, InFile("on_for")] = 0
    off_ns: Annotated[int, _SPAN, InFile("off_for")] = 0
    random: Annotated[bool, FLAG] = False
    """whether on and off are means of exponential distributions"""


@dataclass(frozen=True)
class UdpTraffic:
    """UDP at its own pace, without congestion control."""

    rate: FiniteRate
    """bit/s of frames, Ethernet headers included; of an on-off source, while it is on"""
    packet: Annotated[int, Range(44, 0xFFFF), SIZE, InFile(cure="44 to 65535 bytes (an IP packet)")] = 1500
    """bytes of an IP packet; the mean, where they vary"""
    arrivals: Annotated[Arrivals, FLAT] = Arrivals()
    sizes: Annotated[Literal["constant", "exponential"], InFile()] = "constant"


@dataclass(frozen=True)
class Messages:
    """Messages that an application writes periodically: message i = 1, 2, ... at `period * (x + i)`.

    x is uniform in -0.5 to 0.5. All flows of one host have the same x: the host sends the same to
    every receiver. (Emina et al., ICN 2011, section IV.A)
    """

    size: Annotated[int, Range(1), SIZE]
    """bytes; rounded up to whole packets"""
    period_ns: Annotated[int, _SPAN, InFile("period")]


@dataclass(frozen=True)
class TcpTraffic:
    """A TCP connection, one way."""

    variant: Annotated[Variant, InFile(cure="one such as newreno")]
    window: Packets = 1000
    """most segments in flight"""
    packet: Annotated[int, Range(100, 0xFFFF), SIZE, InFile(cure="100 to 65535 bytes (an IP packet)")] = 1500
    """bytes of a full IP packet"""
    profile: Annotated[Profile, InFile()] = "rfc"
    """source of the defaults: the RFCs and Linux, or ns-2"""
    size: Annotated[int | None, Range(1), SIZE] = None
    """bytes to send; None: without end"""
    messages: Annotated[Messages | None, InFile()] = None
    """messages to send instead"""
    delayed_ack_ns: Annotated[int | None, DELAY, InFile("delayed_ack")] = None
    """delay after which a single segment is acknowledged; None: every segment at once"""
    ecn: Annotated[bool, FLAG] = False
    vegas_gamma: int | None = None
    """packets in queues that end Vegas' slow start; None: ns-2's 1"""
    initial_window: Annotated[int | None, PACKETS] = None
    min_rto_ns: Annotated[int | None, DELAY, InFile("min_rto")] = None
    receive_window: int | None = None
    """bytes that the receiver advertises at first, where that changes during the run (`NativeSim`); the
    sender heeds them then, and both use timestamps"""
    on_demand: bool = False
    """whether the sender waits for orders to send (`NativeSim.resume_flow`)"""

    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""
        timestamps = self.profile == "rfc" or self.receive_window is not None
        options = 12 if timestamps else 0
        return self.packet - 40 - options


@dataclass(frozen=True)
class Backlog:
    """A host's queue of a flow that it shapes."""

    packets: int
    """its bound"""
    d: float = 0.0
    """D_0 = D / d_0 in 1/s, if the host takes part in diffusion-type flow control: by so much for each packet
    that waits it exceeds the rate that it is told (eq. 2)"""


@dataclass(frozen=True)
class Flow:
    """Traffic from one host to another."""

    name: str
    source: Source
    destination: Annotated[str, InFile("to", _HOST)]
    traffic: UdpTraffic | TcpTraffic
    start_ns: Start = 0
    stop_ns: Annotated[int | None, DELAY, InFile("stop")] = None
    shaped_as: Annotated[int | None, Range(0, 0xFFFF)] = None
    """the number by which feedback packets name the flow, if its host shapes it to their rate"""
    backlog: Backlog | None = None
    """the host's own queue, if all that the flow may send waits there; None: in the flow"""


@dataclass(frozen=True)
class GroupSession:
    """A stream from one host to several, by groupflow's protocol, set up by the controller."""

    id: Annotated[int, Range(1, 0x7FFF)]
    source: Source
    destinations: Receivers
    size: Annotated[int, Range(1), SIZE]
    """bytes; 0 with messages"""
    mode: Annotated[Mode, InFile()] = "e2e"
    policy: Annotated[Policy, InFile()] = "strict"
    rate: Annotated[int, _RATE_OR_0] = 0
    """highest rate, bit/s; 0: no bound"""
    start_ns: Start = 0
    """time when the members join"""
    sender_after_ns: int = 0
    """how much later the sender joins: the controller tells it the slowest link of the tree as it is then"""
    messages: Messages | None = None
    """messages to send instead, without end"""
    control: FlowSettings | None = None
    """the diffusion-type flow control under which the controller puts the stream once its sender has joined,
    as `flow create --session` does; `external`: the host shapes to the rate that it is told. Such sessions
    have the numbers from 1 on as flows"""

    def member(self, host: str) -> str:
        """The name under which a member is measured."""
        return f"session{self.id}-{host}"


@dataclass(frozen=True)
class SplitSession:
    """A TCP stream from one host to several, over the split agents on the way (docs/results/icn2011.md).

    Between the source, the agents and the members there is a TCP connection each; they carry the same bytes.
    """

    name: Annotated[str, InFile(cure="a word", otherwise="")]
    source: Source
    destinations: Receivers
    traffic: Annotated[TcpTraffic, FLAT]
    """the stream's size and TCP settings; all connections have the same"""
    mode: Annotated[Mode, InFile()] = "n2n"
    """n2n: an agent acknowledges bytes once they are cached; e2e: once all its branches have acknowledged"""
    start_ns: Start = 0
    cache_bytes: Annotated[int | None, Range(1), SIZE, InFile("cache")] = None
    """n2n: bytes that an agent acknowledges beyond those of all its branches, and caches besides the bytes in
    flight then; None: all that arrive"""
    overlay: Mapping[str, str] = field(default_factory=dict[str, str])
    """application-layer multicast, without agents: of each member, the one that sends to it"""
    shaped_as: Mapping[str, int] = field(default_factory=dict[str, int])
    """of connections (`hop`) that are shaped to feedback's rate: the number by which feedback names each"""

    def hop(self, sender: str, receiver: str) -> str:
        """The name under which a connection is measured."""
        return f"{self.name}-{sender}-{receiver}"


@dataclass(frozen=True)
class QueueSetting:
    """A queue of a switch, as gfswitch's command line sets it: `level=3,rate=1000pps`."""

    port: Annotated[int, Range(1, 511)]
    queue: Annotated[int, Range(0, 63)]
    settings: Annotated[str, InFile("set", "settings such as rate=1000pps")]


@dataclass(frozen=True)
class Generator:
    """A packet generator of a switch: tick n is at first + n * period."""

    id: int
    period_ns: int
    first_ns: int
    frame: bytes
    port: int = 0
    """port at which its packets seem to arrive"""


@dataclass(frozen=True)
class SwitchSetup:
    """Settings of a P4 switch before time begins, beside its routes."""

    updates: tuple["p4r.Update", ...] = ()
    entities: tuple[Any, ...] = ()
    """finsy entities, such as `+finsy.P4TableEntry(...)`"""
    queues: tuple[QueueSetting, ...] = ()
    generators: tuple[Generator, ...] = ()
    nominal_packets: Mapping[int, int] = field(default_factory=dict[int, int])
    """bytes of a packet for computing packets/s from a port's bit rate, by port"""


@dataclass(frozen=True)
class FifoOptions:
    """Early actions of a router without P4, before a queue is full."""

    ecn: Threshold = None
    """a packet that finds so many is marked, if its sender understands marks"""


@dataclass(frozen=True)
class AgentOptions:
    """Limits of a split agent."""

    packets_per_second: int | None = None
    """packets that the agent handles, received and sent; None: any number at once"""


_NO_SETUP = SwitchSetup()
_ANY_AGENT = AgentOptions()
PLAIN = FifoOptions()
NO_EXTRA = LinkExtra()


@dataclass(frozen=True)
class Scenario:
    """A network, its traffic, and the measurements to make."""

    name: str
    topology: Topology
    flows: tuple[Flow, ...]
    duration_ns: Annotated[int, _SPAN, InFile("duration")]
    sessions: Annotated[
        tuple[GroupSession, ...], InFile(cure="`- {id: 7, from: h1, to: [h2], size: 9 bytes}`")
    ] = ()
    """run by the controller; cache agents are at the topology's places"""
    splits: Annotated[
        tuple[SplitSession, ...], InFile(cure="`- {name: a, from: h1, to: [h2, h3], variant: sack}`")
    ] = ()
    bones: tuple[Bone, ...] = ()
    trees: tuple[Tree, ...] = ()
    sample_ns: Annotated[int, _SPAN, InFile("sample")] = 10**6
    seed: Annotated[int, Range(0, 2**64 - 1)] = 1
    kinds: Mapping[str, Kind] = field(default_factory=dict[str, Kind])
    """kind of each switch; default p4. An agent is a switch and its agent host in one: the link between
    the two is no link of the network. TCP connections of `splits` end at it; nothing else passes. A broadcast
    node is a satellite or a ground station: it repeats multicast at all its other ports."""
    fifos: Mapping[str, FifoOptions] = field(default_factory=dict[str, FifoOptions])
    """options of switches that are fifos"""
    agents: Mapping[str, AgentOptions] = field(default_factory=dict[str, AgentOptions])
    """options of switches that are agents"""
    extras: Mapping[int, LinkExtra] = field(default_factory=dict[int, LinkExtra])
    """properties by the link's place in the topology"""
    p4info: Path = P4INFO
    program: Path = P4_JSON
    routes: Annotated[bool, FLAG] = True
    """whether switches get groupflow's routes; turn it off for another program"""
    queues: Annotated[int, Range(1, 64)] = 8
    """queues of a port"""
    setups: Mapping[str, SwitchSetup] = field(default_factory=dict[str, SwitchSetup])
    bound: bool = False
    """whether a controlled flow's share of a link bounds its rate, instead of being its weight"""
    pool: int | None = None
    """most packets in all queues of a P4 switch's port together; None: each queue has its own bound only"""
    trace: Annotated[bool, FLAG] = False
    controlled: Mapping[str, "tuple[Part, ...]"] = field(default_factory=dict[str, "tuple[Part, ...]"])
    """flows under diffusion-type flow control, each with its switches' parts"""
    warnings: tuple[str, ...] = ()
    """settings that are allowed but likely not meant"""

    def kind(self, switch: str) -> Kind:
        return self.kinds.get(switch, "p4")

    def fifo(self, switch: str) -> FifoOptions:
        return self.fifos.get(switch, PLAIN)

    def agent(self, switch: str) -> AgentOptions:
        return self.agents.get(switch, _ANY_AGENT)

    def setup(self, switch: str) -> SwitchSetup:
        return self.setups.get(switch, _NO_SETUP)

    def extra(self, link: int) -> LinkExtra:
        return self.extras.get(link, NO_EXTRA)
