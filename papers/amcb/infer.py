"""The link that the paper does not describe, inferred from a part of its Table 1.

Four figures are used: latency and retransmission of *unscheduled* and *unicast* at the largest file. All
other figures are predicted, with everything about *scheduled*.

In the table bytes sent over latency hardly depends on the size: 10.3 kB/s for unicast and 6.0 kB/s for
unscheduled multicast (three receivers and the bytes sent again counted). A round of W packets of S bytes
takes W intervals and then a round trip (unicast: the answer comes at once) or the whole timeout
(unscheduled: the hub waits for silence). That gives interval and timeout. Go-Back-N gets (1 - (1 - q)^W)
/ q packets of a round through, when each packet is lost with probability q; that gives q: of one receiver
in unicast, of any of three in multicast. These two determine the share that all lose together (up to the
satellite) and the share that each loses alone (down from it).
"""

import math
from dataclasses import dataclass
from functools import cache

from papers.amcb.paper import RIMS, SIZES, TABLE

SIZE = 1000
"""S, bytes of payload of a fixed-size packet: chosen"""
PER_ROUND = 64
"""W, packets of a round: chosen; the timeout that follows is about 5 s"""
DELAY_S = 0.27
"""one-way delay over a geostationary satellite: 2 x 35,786 km at least, and the ground"""
HEADERS = 22 + 8 + 20 + 14
"""bytes of a frame besides the payload: DATA, UDP, IPv4, Ethernet"""


@dataclass(frozen=True)
class LinkModel:
    """Inferred parameters of the link and the protocol."""

    interval_s: float
    """time from one packet to the next"""
    timeout_s: float
    """time in which reception results are gathered"""
    rate_bps: int
    """rate of the link, which packets of fixed size fill"""
    shared_error_bytes: int
    """bytes from one error to the next on the way up"""
    own_error_bytes: int
    """bytes from one error to the next on the way down to each receiver"""
    shared_loss: float
    """probability that a packet of S bytes is lost on the way up"""
    own_loss: float


@cache
def inferred() -> LinkModel:
    """The link and protocol parameters that give the four figures."""
    largest = SIZES[-1]
    cells = TABLE[largest]
    one, many = cells["unicast"], cells["unscheduled"]
    round_bytes = SIZE * PER_ROUND
    unicast_rate = largest * (RIMS + one.again_percent / 100) / one.latency_s
    multicast_rate = largest * (1 + many.again_percent / 100) / many.latency_s
    sending_s = round_bytes / unicast_rate - 2 * DELAY_S
    lost_by_one = loss(1 / (1 + one.again_percent / 100 / RIMS))
    lost_by_any = loss(1 / (1 + many.again_percent / 100))
    # 1 - any = (1 - shared) (1 - own)^3, 1 - one = (1 - shared) (1 - own)
    own = 1 - ((1 - lost_by_any) / (1 - lost_by_one)) ** (1 / (RIMS - 1))
    shared = 1 - (1 - lost_by_one) / (1 - own)
    frame = SIZE + HEADERS
    return LinkModel(
        interval_s=sending_s / PER_ROUND,
        timeout_s=round_bytes / multicast_rate - sending_s,
        rate_bps=round(frame * 8 * PER_ROUND / sending_s),
        shared_error_bytes=round(-frame / math.log1p(-shared)),
        own_error_bytes=round(-frame / math.log1p(-own)),
        shared_loss=shared,
        own_loss=own,
    )


def through(lost: float) -> float:
    """Share of a round's packets before the first lost one, at this probability of loss."""
    return (1 - (1 - lost) ** PER_ROUND) * (1 - lost) / lost / PER_ROUND


def loss(share: float) -> float:
    """Probability of loss at which this share of a round gets through."""
    low, high = 1e-9, 1 - 1e-9
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if through(middle) > share else (low, middle)
    return low
