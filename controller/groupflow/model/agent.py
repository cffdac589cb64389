"""Bounds of an agent that a controller keeps, as users describe them."""

from dataclasses import dataclass
from typing import Annotated

from groupflow.model.fields import FINITE_RATE, SIZE, Help, Key, Range

MOST_BYTES = 2**63 - 1
"""that an agent may hold: gfagent counts them in 64 bits, with a sign"""


@dataclass(frozen=True, kw_only=True)
class AgentBounds:
    """Bounds of an agent; none: its own."""

    bytes: Annotated[
        int | None, Help("bytes of a rim, or of each stream of a cache agent; none: its own bound"),
        Range(1, MOST_BYTES), SIZE,
    ] = None  # fmt: skip
    rate: Annotated[
        int | None, Help("sending rate of a hub, from its next file on; none: its own rate"),
        Key("rate_bps"), Range(1000, 10**11), FINITE_RATE,
    ] = None  # fmt: skip
    hosts: Annotated[
        int | None, Help("the most connections of a dispatcher; none: its own bound", "N"), Range(1, 65535)
    ] = None
