"""A flow of an experiment: its hosts and its times."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Flow:
    """A greedy TCP flow between two hosts of a topology."""

    name: str
    sender: str
    receiver: str
    port: int
    start_s: float = 0.0
