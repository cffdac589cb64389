"""What a policy is told of clients, and what it decides. Rates are bit/s, times seconds, sizes bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

ROUND_S = 0.5
"""how often clients are measured and tuned (section III.A)"""
RTT_STD_S = 0.1
"""baseline of round trips (RTT_std, section III.B); also taken for a client that has not been measured yet"""


@dataclass(frozen=True)
class Client:
    """What someone who gathers wants of a client."""

    name: str
    target: int
    """throughput, bit/s (T_t)"""
    priority: int = 0
    """the higher, the more important"""
    minimum: int | None = None
    """throughput that it gets before anyone gets more, when not all targets can be met, bit/s; None: the
    smallest target of all clients, as the paper has it (`buffers`)"""


class Reading(NamedTuple):
    """What was measured of a client in a round."""

    throughput: float
    """bit/s (T_n)"""
    rtt: float | None
    """s; None: not known yet"""
    window: int | None
    """bytes that its receive buffer has now (W_n); None: the kernel decides"""
    connections: int
    """that it has now (N_n)"""
    loss: float = 0.0
    """segments lost, of those sent in the round"""
    timeout: float | None = None
    """retransmission time-out, s"""

    @property
    def rtt_or_std(self) -> float:
        return RTT_STD_S if self.rtt is None else self.rtt


class Setting(NamedTuple):
    """What a client is given."""

    window: int | None
    """bytes of receive buffer, all its connections together (W); None: the kernel decides"""
    connections: int
    """(N)"""


@dataclass(frozen=True)
class Limits:
    """What there is to divide."""

    buffer: int
    """bytes of all receive buffers together"""
    connections: int = 16
    """the most that a client may have"""
    segment: int = 1152
    """the least buffer of a connection, bytes: with less a segment does not fit"""


Readings: TypeAlias = Mapping[str, Reading]
"""by client"""
Settings: TypeAlias = Mapping[str, Setting]
"""by client"""

State = TypeVar("State")


class Policy(Protocol[State]):
    """A way to tune: what it decides follows from its arguments alone, so that rounds can be repeated and
    tested.

    `state` is what it wants to remember of earlier rounds: a value that is never changed in place, None at
    first. It is given the clients that send now, and a reading of each of them; it gives a setting for each,
    whose windows are no more than `limits.buffer` together, and of which each connection has `limits.segment`
    at least, if there is so much for all clients.
    """

    def tune(
        self, state: State | None, clients: Sequence[Client], readings: Readings, limits: Limits
    ) -> tuple[State, Settings]: ...
