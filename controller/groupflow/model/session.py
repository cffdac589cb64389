"""Sessions as users describe them: settings of a session, of its TCP streams, and a receiver's targets."""

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from annotated_types import Ge, Le, MaxLen, MinLen

from groupflow.model.fields import FINITE_RATE, SIZE, Help, Key, Port

Mode: TypeAlias = Literal["e2e", "n2n"]
"""Source of acknowledgements: the receivers, end to end, or each cache for the node before it."""
Policy: TypeAlias = Literal["strict", "isolate"]
"""Effect of a slow receiver: all members wait, or its cache decouples it."""
Replies: TypeAlias = Literal["leader", "merge", "drop"]
"""Bytes that listeners send back: the sender gets one listener's, all listeners', or none."""

FIRST_SESSION, LAST_SESSION = 1, 2**24 - 1
"""Session ids: a session's group address has 24 bits for it."""
LAST_WINDOW = 2**20
MAX_PORTS = 16
"""of a session for TCP clients"""
MIN_CACHE, MAX_CACHE = 1 << 16, 1 << 40
MIN_BUFFER, MAX_BUFFER = 4096, 1 << 30
MAX_PRIORITY = 1000


@dataclass(frozen=True, kw_only=True)
class SessionSettings:
    """What can be changed of a session while it runs."""

    mode: Annotated[Mode, Help("source of acknowledgements: the receivers (e2e), or each cache (n2n)")] = (
        "e2e"
    )
    policy: Annotated[
        Policy, Help("effect of a slow receiver: all members wait (strict), or its cache feeds it (isolate)")
    ] = "strict"
    window: Annotated[
        int,
        Help("the most packets of a stream that nobody has acknowledged yet", "PACKETS"),
        Ge(1),
        Le(LAST_WINDOW),
    ] = 4096


@dataclass(frozen=True, kw_only=True)
class TcpSettings:
    """What can be changed of a session that carries TCP streams, for the streams that begin afterwards."""

    cache: Annotated[
        int, Help("bound of each stream's cache at each agent"), Key("cache_bytes"),
        Ge(MIN_CACHE), Le(MAX_CACHE), SIZE,
    ] = 64 << 20  # fmt: skip
    history: Annotated[
        int, Help("acknowledged bytes that agents keep for members that join late, within the cache"),
        Key("history_bytes"), Ge(0), Le(MAX_CACHE), SIZE,
    ] = 0  # fmt: skip
    congestion: Annotated[
        str | None, Help("congestion control of the kernel, such as cubic; none: the kernel's default", "NAME"),
        MaxLen(15),
    ] = None  # fmt: skip
    send_buffer: Annotated[
        int | None, Help("send buffer of connections to receivers; none: the kernel adapts it"),
        Ge(MIN_BUFFER), Le(MAX_BUFFER), SIZE,
    ] = None  # fmt: skip
    receive_buffer: Annotated[
        int | None, Help("receive buffer of connections from senders; none: the kernel adapts it"),
        Ge(MIN_BUFFER), Le(MAX_BUFFER), SIZE,
    ] = None  # fmt: skip
    replies: Annotated[
        Replies,
        Help("bytes that members send back to the sender: one member's (leader), all members', or none"),
    ] = "drop"
    agents: Annotated[
        tuple[str, ...], Help("switches whose agents take part; none named: all switches", "SWITCH")
    ] = ()
    budget: Annotated[
        int, Help("the most agents, at the switches that the controller chooses; 0: no choice", "N"), Ge(0)
    ] = 0


@dataclass(frozen=True, kw_only=True)
class NewTcp(TcpSettings):
    """What makes a session one into which TCP clients can send."""

    ports: Annotated[
        tuple[Port, ...], Help("TCP ports for clients, at the session's address", "PORT"),
        MinLen(1), MaxLen(MAX_PORTS),
    ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class NewSession(SessionSettings):
    """A session that is to be created."""

    id: Annotated[
        int | None,
        Help("number of the session; none: a free number", "SESSION"),
        Ge(FIRST_SESSION),
        Le(LAST_SESSION),
    ] = None
    lifetime: Annotated[
        int | None,
        Help("seconds after which the session ends by itself; none: it does not", "SECONDS"),
        Ge(1),
    ] = None
    tcp: Annotated[
        NewTcp | None, Help("settings for TCP clients; none: they cannot send into the session")
    ] = None


@dataclass(frozen=True, kw_only=True)
class MemberTargets:
    """What a receiver is to get of a session that isolates."""

    target: Annotated[
        int | None, Help("throughput that the receiver is to get; none: whatever is left"),
        Key("target_bps"), Ge(1), FINITE_RATE,
    ] = None  # fmt: skip
    minimum: Annotated[
        int | None,
        Help("throughput before others get more than theirs; none: the smallest target of all"),
        Key("minimum_bps"), Ge(1), FINITE_RATE,
    ] = None  # fmt: skip
    priority: Annotated[
        int, Help("order in which targets are met: the highest number first", "N"), Ge(0), Le(MAX_PRIORITY)
    ] = 0
