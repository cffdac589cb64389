"""The numbers by which a switch knows streams, neighbours and branches.

Numbers of each kind are given round robin, so that a number is used again as late as possible: packets
and register values of the former owner are gone by then.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import TypeAdapter

from groupflow.control.sessions.model import Codec, RefusalError
from groupflow.control.sessions.replication import Neighbour, Node
from groupflow.p4rt.program import Room

MAX_NEIGHBOURS = 0x1FFF
"""Below 2^13: a group id is the number plus a base that says what the group is for (see `sessions.desired`).

BMv2 takes group ids below 2^15."""


class Stream(NamedTuple):
    """One sender's data in one session."""

    session: int
    source: int


@dataclass(frozen=True)
class NodeNumbers:
    """One switch's numbers of a stream and its neighbours."""

    index: int
    neighbours: Mapping[Neighbour, int]
    branches: Mapping[tuple[Neighbour, int], int]
    """by neighbour and member"""


@dataclass(frozen=True)
class StreamRecord:
    """A stream's numbers at a switch, as stored."""

    switch: str
    stream: Stream
    index: int
    branches: tuple[tuple[Neighbour, int, int], ...] = ()
    """neighbour, member, number"""
    last_branch: int = -1


@dataclass(frozen=True)
class NeighbourRecord:
    switch: str
    neighbour: Neighbour
    number: int


@dataclass(frozen=True)
class CursorRecord:
    """The numbers given last, from which the round robin goes on."""

    switch: str
    stream: int
    neighbour: int


STREAMS = Codec("numbers/streams", TypeAdapter(StreamRecord))
NEIGHBOURS = Codec("numbers/neighbours", TypeAdapter(NeighbourRecord))
CURSORS = Codec("numbers/cursors", TypeAdapter(CursorRecord))


def next_free(last: int, low: int, high: int, used: Container[int]) -> int | None:
    """The first unused number after `last`, continuing at `low` after `high`; None: all are used."""
    size = high - low + 1
    for step in range(1, size + 1):
        number = low + (last - low + step) % size
        if number not in used:
            return number
    return None


class SwitchNumbers:
    """The numbers of one switch. Collects in `writes` what the store must record."""

    def __init__(self, switch: str, room: Room) -> None:
        self.switch = switch
        self.room = room
        self.writes: dict[str, str | None] = {}
        self._streams: dict[Stream, StreamRecord] = {}
        self._last_index = -1
        self._neighbours: dict[Neighbour, int] = {}
        self._by_number: dict[int, Neighbour] = {}
        self._last_neighbour = 0

    @property
    def streams(self) -> tuple[Stream, ...]:
        return tuple(self._streams)

    @property
    def neighbours(self) -> tuple[int, ...]:
        return tuple(self._by_number)

    def check(self, stream: Stream, node: Node) -> None:
        """Raises RefusalError if the switch has no room for a stream's node."""
        if len(node.branches) > self.room.branches:
            branches = f"{self.room.branches} branches in this stream"
            raise RefusalError("full", f"switch {self.switch} has {branches}, the highest number")
        if stream not in self._streams and len(self._streams) >= self.room.streams:
            streams = f"{self.room.streams} streams"
            raise RefusalError("full", f"switch {self.switch} has {streams}, the highest number")
        new = sum(1 for neighbour in _neighbours(node) if neighbour not in self._neighbours)
        if len(self._neighbours) + new > MAX_NEIGHBOURS:
            raise RefusalError(
                "full", f"switch {self.switch} has {MAX_NEIGHBOURS} neighbours, the highest number"
            )

    def assign(self, stream: Stream, node: Node) -> NodeNumbers:
        """Numbers for all parts of a node, which `check` has passed. A part that has a number keeps it."""
        former = self._streams.get(stream)
        if (record := former) is None:
            used = {other.index for other in self._streams.values()}
            self._last_index = self._take(self._last_index, 0, self.room.streams - 1, used)
            self._write_cursor()
            record = StreamRecord(self.switch, stream, self._last_index)
        kept = {(branch.neighbour, branch.member) for branch in node.branches}
        numbers = {(to, member): number for to, member, number in record.branches if (to, member) in kept}
        last = record.last_branch
        for branch in node.branches:
            if (branch.neighbour, branch.member) not in numbers:
                last = self._take(last, 0, self.room.branches - 1, set(numbers.values()))
                numbers[branch.neighbour, branch.member] = last
        branches = tuple((to, member, number) for (to, member), number in numbers.items())
        changed = StreamRecord(self.switch, stream, record.index, branches, last)
        if changed != former:
            self._streams[stream] = changed
            self.writes[STREAMS.key(self.switch, *stream)] = STREAMS.dump(changed)
        neighbours = {neighbour: self._neighbour(neighbour) for neighbour in _neighbours(node)}
        return NodeNumbers(record.index, neighbours, numbers)

    def release_stream(self, stream: Stream) -> None:
        if self._streams.pop(stream, None) is not None:
            self.writes[STREAMS.key(self.switch, *stream)] = None

    def release_neighbour(self, number: int) -> None:
        neighbour = self._by_number.pop(number, None)
        if neighbour is not None:
            del self._neighbours[neighbour]
            self.writes[NEIGHBOURS.key(self.switch, number)] = None

    def restore(
        self,
        streams: Iterable[StreamRecord],
        neighbours: Iterable[NeighbourRecord],
        cursor: CursorRecord | None,
    ) -> None:
        """Takes over the numbers that an earlier controller gave."""
        self._streams = {record.stream: record for record in streams}
        for record in neighbours:
            self._neighbours[record.neighbour] = record.number
            self._by_number[record.number] = record.neighbour
        if cursor is not None:
            self._last_index, self._last_neighbour = cursor.stream, cursor.neighbour

    def _neighbour(self, neighbour: Neighbour) -> int:
        if neighbour not in self._neighbours:
            number = self._take(self._last_neighbour, 1, MAX_NEIGHBOURS, self._by_number)
            self._last_neighbour = number
            self._neighbours[neighbour] = number
            self._by_number[number] = neighbour
            record = NeighbourRecord(self.switch, neighbour, number)
            self.writes[NEIGHBOURS.key(self.switch, number)] = NEIGHBOURS.dump(record)
            self._write_cursor()
        return self._neighbours[neighbour]

    def _take(self, last: int, low: int, high: int, used: Container[int]) -> int:
        number = next_free(last, low, high, used)
        if number is None:
            raise RefusalError("full", f"switch {self.switch} has no number left of {high}")
        return number

    def _write_cursor(self) -> None:
        cursor = CursorRecord(self.switch, self._last_index, self._last_neighbour)
        self.writes[CURSORS.key(self.switch)] = CURSORS.dump(cursor)


def _neighbours(node: Node) -> set[Neighbour]:
    found = {branch.neighbour for branch in node.branches} | {node.upstream}
    return found | {node.agent} if node.agent else found
