"""What agents have told of streams: who has all of one, who failed. Bounded, and each told once."""

from collections import OrderedDict
from dataclasses import dataclass, field

STREAMS = 64
"""Streams of a session that are remembered; the oldest go first."""


@dataclass(frozen=True)
class Receipt:
    """A member's TCP has acknowledged all of a stream, and its end."""

    member: int
    name: str
    bytes: int
    at: float
    """seconds since 1970"""


@dataclass
class StreamStory:
    """What is known of one stream."""

    peer: str = ""
    """the sender's IP:PORT"""
    agent: str = ""
    """the switch whose agent its sender is connected to"""
    outcome: str = ""
    """how it ended at that agent; empty: it has not"""
    receipts: dict[int, Receipt] = field(default_factory=dict[int, Receipt])
    """by member"""
    failed: dict[int, str] = field(default_factory=dict[int, str])
    """why the stream went on without it, by member; it need not have left the session"""


class Stories:
    """The streams of one session, the latest last."""

    def __init__(self) -> None:
        self.streams: OrderedDict[str, StreamStory] = OrderedDict()

    def of(self, stream: str) -> StreamStory:
        """The story of a stream, begun if need be."""
        story = self.streams.get(stream)
        if story is None:
            story = self.streams[stream] = StreamStory()
            while len(self.streams) > STREAMS:
                self.streams.popitem(last=False)
        return story
