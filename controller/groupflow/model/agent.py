"""Bounds of an agent that a controller keeps, as users describe them."""

from dataclasses import dataclass
from typing import Annotated

from groupflow.model.fields import FINITE_RATE, SIZE, Help, Key, Range


@dataclass(frozen=True, kw_only=True)
class AgentBounds:
    """The bound of an agent; none: the agent's own."""

    bytes: Annotated[
        int | None, Help("bytes of a rim, or of each stream of a cache agent; none: its own bound"), SIZE
    ] = None
    rate: Annotated[
        int | None, Help("sending rate of a hub, from its next file on; none: its own rate"),
        Key("rate_bps"), FINITE_RATE,
    ] = None  # fmt: skip
    hosts: Annotated[
        int | None, Help("the most connections of a dispatcher; none: its own bound", "N"), Range(1)
    ] = None
