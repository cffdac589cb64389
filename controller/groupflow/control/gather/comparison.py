"""The paper's comparison method (section IV.B), after Matsuo et al. [8]: buffers in the ratio of estimated
maximum throughput.

The estimate is the formula that [8] uses for TCP Reno (Padhye, Firoiu, Towsley and Kurose 1998, eq. 30), of
round trip, loss ratio and retransmission time-out. Targets and priorities are not considered; each client has
one connection.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groupflow.control.gather.buffers import in_ratio, whole_windows
from groupflow.control.gather.model import Client, Limits, Reading, Readings, Setting, Settings

LEAST_LOSS = 1e-4
"""loss ratio taken where less was seen: the formula has no bound without losses"""
LEAST_TIMEOUT_S = 0.2
"""retransmission time-out taken where it is not known: the least of Linux and ns-2"""
ACKED = 1
"""packets that one acknowledgement covers (b of the formula)"""
MEMORY = 1 / 64
"""weight of a round in the smoothed loss ratio: half a minute of rounds, for a round has few packets"""

Losses = Mapping[str, float]
"""smoothed loss ratio by client"""


def estimate(rtt: float, loss: float, timeout: float) -> float:
    """Maximum throughput of TCP Reno, segments/s. `rtt`, `timeout` in s; `loss`: share of packets sent."""
    halving = rtt * math.sqrt(2 * ACKED * loss / 3)
    waiting = timeout * min(1.0, 3 * math.sqrt(3 * ACKED * loss / 8)) * loss * (1 + 32 * loss**2)
    return 1 / (halving + waiting)


@dataclass(frozen=True)
class Comparison:
    """The policy: buffers by the estimated throughput of each client, without regard to its target."""

    def tune(
        self, state: Losses | None, clients: Sequence[Client], readings: Readings, limits: Limits
    ) -> tuple[Losses, Settings]:
        losses = {c.name: _smoothed((state or {}).get(c.name), readings[c.name]) for c in clients}
        estimates = {c.name: _estimate(readings[c.name], losses[c.name]) for c in clients}
        windows = whole_windows(in_ratio(limits.buffer, estimates), limits)
        return losses, {name: Setting(window, 1) for name, window in windows.items()}


def _smoothed(before: float | None, reading: Reading) -> float:
    if before is None:
        return reading.loss
    return before + MEMORY * (reading.loss - before)


def _estimate(reading: Reading, loss: float) -> float:
    timeout = LEAST_TIMEOUT_S if reading.timeout is None else reading.timeout
    return estimate(reading.rtt_or_std, min(1.0, max(loss, LEAST_LOSS)), timeout)
