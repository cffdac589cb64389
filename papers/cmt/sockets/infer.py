"""The path between Florida and Virginia, which the paper does not describe, inferred from three figures.

| inferred | from |
|---|---|
| round trip | one connection with 8,192 bytes, which it sends once in each round trip |
| loss | one connection with 65,536 bytes, more than it ever has in flight |
| rate | three connections with 32,768 bytes, the highest rate in the paper |

Each is the value with which netsim takes the paper's time; all other times are predicted.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from statistics import fmean

from papers.cmt.sockets.network import Path, transfer
from papers.cmt.sockets.paper import BEST, MIDDLE, SMALL, SMALL_S, TABLE_1_S, THREE, THREE_S, Case

SEEDS = range(1, 6)
TURNS = 2
"""rounds of inference: the three depend on each other, but little"""
HALVINGS = 9
RTT_S, LOSS, RATE_BPS = (0.004, 0.060), (0.0, 0.03), (100e6, 5e6)
"""bounds of the search for each, the fastest first"""
FIRST = Path(0.02, 0.004, 20e6)


@cache
def inferred(queue: int | None) -> Path:
    """The path that gives the three figures, with this queue."""
    path = FIRST
    for _ in range(TURNS):
        path = _fit(Case(SMALL, 1, queue), SMALL_S, RTT_S, lambda v, p=path: replace(p, rtt_s=v))
        path = _fit(Case(BEST, 1, queue), TABLE_1_S[BEST], LOSS, lambda v, p=path: replace(p, loss=v))
        path = _fit(Case(MIDDLE, THREE, queue), THREE_S, RATE_BPS, lambda v, p=path: replace(p, rate_bps=v))
    return path


def _fit(case: Case, seconds: float, within: tuple[float, float], put: Callable[[float], Path]) -> Path:
    """The path on which the case takes so long, found by bisection."""
    fast, slow = within
    for _ in range(HALVINGS):
        middle = (fast + slow) / 2
        time = fmean(transfer(case, put(middle), seed).seconds for seed in SEEDS)
        fast, slow = (fast, middle) if time > seconds else (middle, slow)
    return put((fast + slow) / 2)
