"""Clients of a server that gathers, and the server's own settings, as users describe them."""

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from groupflow.model.fields import FINITE_RATE, SIZE, Help, Key, Range, matching
from groupflow.model.session import Minimum, Priority

DEFAULT_CONNECTIONS = 16
DEFAULT_POLICY = "sakajiri"

ClientName: TypeAlias = Annotated[
    str,
    matching(
        "[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}", "1 to 64 letters, digits, '.', '_' or '-', not '.' first", "NAME"
    ),
]
Connections: TypeAlias = Annotated[int, Help("the most connections of a client", "N"), Range(1, 64)]
"""64: gfagent's default"""


@dataclass(frozen=True)
class Client:
    """A client that sends to the server, with the operator's targets for it."""

    name: Annotated[ClientName, Help("name of the client")]
    target: Annotated[
        int, Help("throughput that the client is to reach (T_t)"), Key("target_bps"), Range(1), FINITE_RATE
    ]
    priority: Priority = 0
    minimum: Minimum = None


@dataclass(frozen=True, kw_only=True)
class GatherSettings:
    """The resources that a server divides among its clients, and the policy that divides them."""

    policy: Annotated[str, Help("policy that tunes the clients", "NAME")] = DEFAULT_POLICY
    link: Annotated[
        int, Help("rate of the server's link, the largest target"), Key("link_bps"), Range(0), FINITE_RATE
    ] = 0
    """0: not known, and no client fits"""
    buffer: Annotated[int, Help("bound of all receive buffers together"), Range(0, 1 << 40), SIZE] = 0
    connections: Connections = DEFAULT_CONNECTIONS
