"""Sessions as users describe them: settings of a session, of its TCP streams, and a receiver's targets."""

from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Annotated, Literal, TypeAlias

from groupflow.model.fields import FINITE_RATE, SIZE, Help, Key, Length, Port, Range, matching

Mode: TypeAlias = Literal["e2e", "n2n"]
"""Source of acknowledgements: the receivers, end to end, or each cache for the node before it."""
Policy: TypeAlias = Literal["strict", "isolate"]
"""Effect of a slow receiver: all members wait, or its cache decouples it."""
ModeOption: TypeAlias = Annotated[
    Mode, Help("source of acknowledgements: the receivers (e2e), or each cache (n2n)")
]
PolicyOption: TypeAlias = Annotated[
    Policy, Help("effect of a slow receiver: all members wait (strict), or its cache feeds it (isolate)")
]
Replies: TypeAlias = Literal["leader", "merge", "drop"]
"""Bytes that listeners send back: the sender gets one listener's, all listeners', or none."""

DEFAULT_PREFIX = IPv4Network("10.200.0.0/16")
"""Addresses of TCP sessions. Agents own the whole prefix; switches refuse addresses that no session has."""
FIRST_SESSION, LAST_SESSION = 1, 2**24 - 1
"""Session ids: a session's group address has 24 bits for it."""
LAST_WINDOW = 2**20
MAX_PORTS = 16
"""of a session for TCP clients"""
MIN_CACHE, MAX_CACHE = 1 << 16, 1 << 40
MIN_BUFFER, MAX_BUFFER = 4096, 1 << 30

Minimum: TypeAlias = Annotated[
    int | None,
    Help("throughput before others get more than theirs; none: the smallest target of all"),
    Key("minimum_bps"),
    Range(1),
    FINITE_RATE,
]
Priority: TypeAlias = Annotated[
    int, Help("order in which targets are met: the highest number first", "N"), Range(0, 1000)
]


@dataclass(frozen=True, kw_only=True)
class SessionSettings:
    """The settings of a session that may change while it runs."""

    mode: ModeOption = "e2e"
    policy: PolicyOption = "strict"
    window: Annotated[
        int,
        Help("the most packets of a stream that nobody has acknowledged yet", "PACKETS"),
        Range(1, LAST_WINDOW),
    ] = 4096


@dataclass(frozen=True, kw_only=True)
class TcpSettings:
    """Settings of the TCP streams of a session. A change is for streams that begin later."""

    cache: Annotated[
        int,
        Help("bound of each stream's cache at each agent"),
        Key("cache_bytes"),
        Range(MIN_CACHE, MAX_CACHE),
        SIZE,
    ] = 64 << 20
    history: Annotated[
        int,
        Help("acknowledged bytes in the cache that agents keep for members that join late"),
        Key("history_bytes"),
        Range(0, MAX_CACHE),
        SIZE,
    ] = 0
    congestion: Annotated[
        str | None,
        Help("congestion control, such as cubic; none: the kernel's default"),
        matching("[A-Za-z_][A-Za-z0-9_]{0,14}", "a congestion control of the kernel, such as cubic", "NAME"),
    ] = None
    send_buffer: Annotated[
        int | None,
        Help("send buffer of connections to receivers; none: the kernel adapts it"),
        Range(MIN_BUFFER, MAX_BUFFER),
        SIZE,
    ] = None
    receive_buffer: Annotated[
        int | None,
        Help("receive buffer of connections from senders; none: the kernel adapts it"),
        Range(MIN_BUFFER, MAX_BUFFER),
        SIZE,
    ] = None
    replies: Annotated[
        Replies,
        Help("bytes that members send back to the sender: one member's (leader), all members', or none"),
    ] = "drop"
    agents: Annotated[
        tuple[str, ...], Help("switches whose agents take part; none named: all switches", "SWITCH")
    ] = ()
    budget: Annotated[
        int, Help("the most agents, at the switches that the controller chooses; 0: no choice", "N"), Range(0)
    ] = 0


@dataclass(frozen=True, kw_only=True)
class NewTcp(TcpSettings):
    """Settings with which TCP clients can send into a session."""

    ports: Annotated[
        tuple[Port, ...],
        Help("TCP ports for clients, at the session's address", "PORT"),
        Length(1, MAX_PORTS),
    ]


@dataclass(frozen=True, kw_only=True)
class NewSession(SessionSettings):
    """A session that is to be created."""

    id: Annotated[
        int | None,
        Help("number of the session; none: a free number", "SESSION"),
        Range(FIRST_SESSION, LAST_SESSION),
    ] = None
    lifetime: Annotated[
        int | None,
        Help("seconds after which the session ends by itself; none: it does not", "SECONDS"),
        Range(1),
    ] = None
    tcp: Annotated[
        NewTcp | None, Help("settings for TCP clients; none: they cannot send into the session")
    ] = None


@dataclass(frozen=True, kw_only=True)
class MemberTargets:
    """The throughput that a receiver is to get in a session with policy isolate."""

    target: Annotated[
        int | None,
        Help("throughput that the receiver is to get; none: whatever is left"),
        Key("target_bps"),
        Range(1),
        FINITE_RATE,
    ] = None
    minimum: Minimum = None
    priority: Priority = 0
