"""Inputs and outputs of a policy. Rates are bit/s, times seconds, sizes bytes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from groupflow.model.client import Client as Client  # for policies of one's own

ROUND_S = 0.5
"""time between two measurements and tunings of a client (section III.A)"""
RTT_STD_S = 0.1
"""baseline of round trips (RTT_std, section III.B); also taken for a client that has not been measured yet"""


class Reading(NamedTuple):
    """Measurements of a client in a round."""

    throughput: float
    """throughput, bit/s (T_n)"""
    rtt: float | None
    """round trip, s; None: not known yet"""
    window: int | None
    """bytes of its receive buffer now (W_n); None: the kernel decides"""
    connections: int
    """number of its connections now (N_n)"""
    loss: float = 0.0
    """share of the segments sent in the round that were lost; 0 where none were sent"""
    timeout: float | None = None
    """retransmission time-out, s"""

    @property
    def rtt_or_std(self) -> float:
        return RTT_STD_S if self.rtt is None else self.rtt


class Setting(NamedTuple):
    """The buffer and connections that a client is given."""

    window: int | None
    """bytes of receive buffer, all its connections together (W); None: the kernel decides"""
    connections: int
    """number of connections (N)"""


@dataclass(frozen=True)
class Limits:
    """The resources of the server that are divided."""

    buffer: int
    """bytes of all receive buffers together"""
    connections: int = 16
    """the most connections of a client"""
    segment: int = 1152
    """bytes, the smallest buffer of a connection: less has no room for a segment"""


Readings: TypeAlias = Mapping[str, Reading]
"""by client"""
Settings: TypeAlias = Mapping[str, Setting]
"""by client"""


def checked(settings: Mapping[str, Any], clients: Iterable[str], limits: Limits) -> Settings:
    """The settings of these clients that a policy made, as a server can carry them out.

    Raises KeyError, TypeError or ValueError where it cannot: the policy may be anybody's code.
    """
    found: dict[str, Setting] = {}
    for name in clients:
        window, connections = settings[name]
        found[name] = Setting(None if window is None else index(window), index(connections))
        if not 1 <= found[name].connections <= limits.connections:
            raise ValueError(f"{name}: {connections} connections, where 1 to {limits.connections} may be")
        if window is not None and window < limits.segment:
            raise ValueError(f"{name}: a window of {window} bytes, where the least is {limits.segment}")
    total = sum(each.window or 0 for each in found.values())
    if total > limits.buffer > 0:
        raise ValueError(f"windows of {total} bytes, where the limit is {limits.buffer}")
    return found


State = TypeVar("State")


class Policy(Protocol[State]):
    """A way to tune: its decisions follow from its arguments alone, so that rounds can be repeated and
    tested.

    `state` is its memory of earlier rounds: a value that is never changed in place, None at first. A policy
    is given the clients that send now, and a reading of each of them; it returns a setting for each. The
    sum of windows is at most `limits.buffer`, and each connection has at least `limits.segment`, if there
    is so much for all clients.
    """

    def tune(
        self, state: State | None, clients: Sequence[Client], readings: Readings, limits: Limits
    ) -> tuple[State, Settings]: ...
