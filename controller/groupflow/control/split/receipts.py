"""Receipts and failures of streams, as agents told of them. Bounded, and each is told once."""

from collections import OrderedDict
from dataclasses import dataclass, field

STREAMS = 64
"""Streams of a session that are remembered; the oldest are forgotten first."""


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
    """Everything known of one stream."""

    peer: str = ""
    """the sender's IP:PORT"""
    agent: str = ""
    """the switch whose agent the sender is connected to"""
    outcome: str = ""
    """how the stream ended at that agent; empty: it has not ended"""
    receipts: dict[int, Receipt] = field(default_factory=dict[int, Receipt])
    """receipts by member"""
    failed: dict[int, str] = field(default_factory=dict[int, str])
    """why the stream went on without a member, by member; the member need not have left the session"""


class Stories:
    """The streams of one session, the latest last."""

    def __init__(self) -> None:
        self.streams: OrderedDict[str, StreamStory] = OrderedDict()

    def of(self, stream: str) -> StreamStory:
        """The story of a stream, begun if it is new."""
        story = self.streams.get(stream)
        if story is None:
            story = self.streams[stream] = StreamStory()
            while len(self.streams) > STREAMS:
                self.streams.popitem(last=False)
        return story
