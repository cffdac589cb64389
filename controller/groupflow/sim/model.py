"""A scenario as a value: a network, the programs of its switches, and the traffic.

Quantities are integers in base units: nanoseconds, bit/s, bytes, parts per 10^9.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from groupflow.data import P4_JSON, P4INFO
from groupflow.errors import InvalidError
from groupflow.model.topology import Topology
from groupflow.sim.bone import Bone

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


@dataclass(frozen=True)
class GilbertElliott:
    """Losses in bursts; proportions in parts per 10^9, for each frame."""

    to_bad: int
    to_good: int
    good_loss: int = 0
    bad_loss: int = SECOND


@dataclass(frozen=True)
class LinkExtra:
    """Properties of a link that only the simulator has."""

    burst_loss: GilbertElliott | None = None
    """replaces the topology's independent losses"""
    policer: tuple[int, int] | None = None
    """rate (bit/s) and depth (bytes) of a token bucket: a frame for which it has no room is lost"""
    down_ns: tuple[tuple[int, int], ...] = ()
    """times (from, until) when the link is down"""
    queue_bytes: int | None = None
    error_bytes: int | None = None
    """mean bytes from one bit error to the next, in frames that a broadcast node sends on the link"""


@dataclass(frozen=True)
class Arrivals:
    """Times of the packets of a UDP source: at its rate, unless set otherwise."""

    pattern: Pattern = "constant"
    on_ns: int = 0
    off_ns: int = 0
    random: bool = False
    """whether on and off are means of exponential distributions"""


@dataclass(frozen=True)
class UdpTraffic:
    """UDP at its own pace, without congestion control."""

    rate: int
    """bit/s of frames, Ethernet headers included; of an on-off source, while it is on"""
    packet: int = 1500
    """bytes of an IP packet; the mean, where they vary"""
    arrivals: Arrivals = Arrivals()
    sizes: Literal["constant", "exponential"] = "constant"


@dataclass(frozen=True)
class Messages:
    """Messages that an application writes periodically: message i = 1, 2, ... at `period * (x + i)`.

    x is uniform in -0.5 to 0.5. All flows of one host have the same x: the host sends the same to
    every receiver. (Emina et al., ICN 2011, section IV.A)
    """

    size: int
    """bytes; rounded up to whole packets"""
    period_ns: int


@dataclass(frozen=True)
class TcpTraffic:
    """A TCP connection, one way."""

    variant: Variant
    window: int = 1000
    """most segments in flight"""
    packet: int = 1500
    """bytes of a full IP packet"""
    profile: Profile = "rfc"
    """source of the defaults: the RFCs and Linux, or ns-2"""
    size: int | None = None
    """bytes to send; None: without end"""
    messages: Messages | None = None
    """messages to send instead"""
    delayed_ack_ns: int | None = None
    """delay after which a single segment is acknowledged; None: every segment at once"""
    ecn: bool = False
    vegas_gamma: int | None = None
    """packets in queues that end Vegas' slow start; None: ns-2's 1"""
    initial_window: int | None = None
    min_rto_ns: int | None = None
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
class Flow:
    """Traffic from one host to another."""

    name: str
    source: str
    destination: str
    traffic: UdpTraffic | TcpTraffic
    start_ns: int = 0
    stop_ns: int | None = None
    shaped_as: int | None = None
    """the number by which feedback packets name the flow, if its host shapes it to their rate"""


@dataclass(frozen=True)
class GroupSession:
    """A stream from one host to several, by groupflow's protocol, set up by the controller."""

    id: int
    source: str
    destinations: tuple[str, ...]
    size: int
    """bytes; 0 with messages"""
    mode: Literal["e2e", "n2n"] = "e2e"
    policy: Literal["strict", "isolate"] = "strict"
    rate: int = 0
    """highest rate, bit/s; 0: no bound"""
    start_ns: int = 0
    """time when the members join"""
    sender_after_ns: int = 0
    """how much later the sender joins: the controller tells it the slowest link of the tree as it is then"""
    messages: Messages | None = None
    """messages to send instead, without end"""

    def member(self, host: str) -> str:
        """The name under which a member is measured."""
        return f"session{self.id}-{host}"


@dataclass(frozen=True)
class SplitSession:
    """A TCP stream from one host to several, over the split agents on the way (docs/results/icn2011.md).

    Between the source, the agents and the members there is a TCP connection each; they carry the same bytes.
    """

    name: str
    source: str
    destinations: tuple[str, ...]
    traffic: TcpTraffic
    """the stream's size and TCP settings; all connections have the same"""
    mode: Literal["e2e", "n2n"] = "n2n"
    """n2n: an agent acknowledges bytes once they are cached; e2e: once all its branches have acknowledged"""
    start_ns: int = 0
    cache_bytes: int | None = None
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

    port: int
    queue: int
    settings: str


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
    """Early actions of a router without P4, before a queue is full. Units are waiting packets."""

    ecn: int | None = None
    """a packet that finds so many is marked, if its sender understands marks"""
    xoff: int | None = None
    """a neighbour with more packets than this is told to pause"""
    xon: int | None = None
    """a paused neighbour with so many packets or fewer is told to go on"""


@dataclass(frozen=True)
class AgentOptions:
    """Limits of a split agent."""

    packets_per_second: int | None = None
    """packets that the agent handles, received and sent; None: any number at once"""


_NO_SETUP = SwitchSetup()
_ANY_AGENT = AgentOptions()
_PLAIN = FifoOptions()
_NO_EXTRA = LinkExtra()


@dataclass(frozen=True)
class Scenario:
    """A network, its traffic, and the measurements to make."""

    name: str
    topology: Topology
    flows: tuple[Flow, ...]
    duration_ns: int
    sessions: tuple[GroupSession, ...] = ()
    """run by the controller; cache agents are at the topology's places"""
    splits: tuple[SplitSession, ...] = ()
    bones: tuple[Bone, ...] = ()
    sample_ns: int = 10**6
    seed: int = 1
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
    routes: bool = True
    """whether switches get groupflow's routes; turn it off for another program"""
    queues: int = 8
    """queues of a port"""
    setups: Mapping[str, SwitchSetup] = field(default_factory=dict[str, SwitchSetup])
    trace: bool = False
    controlled: Mapping[str, "tuple[Part, ...]"] = field(default_factory=dict[str, "tuple[Part, ...]"])
    """flows under diffusion-type flow control, each with its switches' parts"""
    warnings: tuple[str, ...] = ()
    """settings that are allowed but likely not meant"""

    def kind(self, switch: str) -> Kind:
        return self.kinds.get(switch, "p4")

    def fifo(self, switch: str) -> FifoOptions:
        return self.fifos.get(switch, _PLAIN)

    def agent(self, switch: str) -> AgentOptions:
        return self.agents.get(switch, _ANY_AGENT)

    def setup(self, switch: str) -> SwitchSetup:
        return self.setups.get(switch, _NO_SETUP)

    def extra(self, link: int) -> LinkExtra:
        return self.extras.get(link, _NO_EXTRA)
