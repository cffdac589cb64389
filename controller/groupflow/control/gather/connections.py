"""The number of connections of each client: section III.B of the paper, steps (I) to (VI).

A step that measures throughput ends a round; the next round goes on from it. Where the paper leaves it open:

- (II) says "multiplying N_n": by gamma, as section III.B says before and Table I names it.
- The brackets of eq. (3) are Gauss's: the integer part.
- beta is between 0 and 1 (section III.B), but N_b/N_n of eq. (4) is 1 and more after (II) and (V). It counts
  when it is below 1.
- A client has from 1 connection to `Limits.connections`, and no more than its buffer has segments.
"""

from dataclasses import dataclass
from typing import NamedTuple

from groupflow.control.gather.buffers import rate_of
from groupflow.control.gather.model import RTT_STD_S, Reading

GAMMA = 0.5
"""initialization parameter (Table I)"""
XI = 0.95
"""safety coefficient (Table I)"""
_ROUNDING = 1e-9
"""error of floats, which must not make 5 of 6"""


@dataclass(frozen=True)
class Search:
    """A search under way: N_n connections have been tried for a round."""

    alpha: int
    beta: float
    before: int
    """connections before the last tuning (N_b)"""
    throughput: float
    """throughput at that time, bit/s"""
    rising: bool = True
    """whether throughput "was increasing up to now\""""


class Tuned(NamedTuple):
    """Connections from now on, and the search if it goes on."""

    connections: int
    search: Search | None


def tune_connections(
    search: Search | None, target: float, reading: Reading, most: int, *, gamma: float = GAMMA, xi: float = XI
) -> Tuned:
    """One round of one client's search. `target`: T_t in bit/s; `most`: the largest number of connections."""
    now = max(1, min(reading.connections, most))
    if search is None:
        due = is_due(target, reading, xi)
        return _begin(target, reading, now, most, gamma) if due else Tuned(now, None)
    return _go_on(search, target, reading, now, most)


def is_due(target: float, reading: Reading, xi: float = XI) -> bool:
    """Whether throughput is below the target and below xi times the buffer's throughput (eq. 2).

    Not before a round trip is known: until a connection is established its throughput means nothing.
    """
    if reading.rtt is None:
        return False
    estimated = float("inf") if reading.window is None else rate_of(reading.window, reading.rtt_or_std)
    return reading.throughput < target and reading.throughput < xi * estimated


def _begin(target: float, reading: Reading, now: int, most: int, gamma: float) -> Tuned:
    """Steps (II) and (III): begins a search."""
    initial = max(1, int(gamma * now))
    alpha, beta = _renewed(target, reading, now, initial)
    return Tuned(min(most, initial + alpha), Search(alpha, beta, now, reading.throughput))


def _go_on(search: Search, target: float, reading: Reading, now: int, most: int) -> Tuned:
    """Step (IV) and the steps after it, up to (III): continues a search."""
    if reading.throughput >= target:
        return Tuned(now, None)
    rising = reading.throughput >= search.throughput
    if search.alpha == 1 and search.rising and not rising:
        return Tuned(min(search.before, most), None)
    kept = now if rising else max(1, int(search.beta * now))  # (V)
    alpha, beta = _renewed(target, reading, search.before, kept)  # (VI): N_n is what (V) left
    return Tuned(min(most, kept + alpha), Search(alpha, beta, now, reading.throughput, rising))


def _renewed(target: float, reading: Reading, before: int, now: int) -> tuple[int, float]:
    """Eqs. (3) and (4): alpha and beta."""
    short = target / max(reading.throughput, 1.0)
    back = before / now
    return (
        max(1, int(short * reading.rtt_or_std / RTT_STD_S + _ROUNDING)),
        max(back if back < 1 else 0.0, reading.throughput / target),
    )
