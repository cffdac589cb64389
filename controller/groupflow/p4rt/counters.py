"""Reads the P4 program's counters by name, leaving out cells that never counted."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

from finsy.proto import p4r

from groupflow.p4rt.entries import key_of
from groupflow.p4rt.program import CounterInfo, Program

Query: TypeAlias = Callable[[Sequence[p4r.Entity]], Awaitable[list[p4r.Entity]]]


class Count(NamedTuple):
    cell: tuple[int, ...]
    """a number, or the match values of the table entry that is counted"""
    packets: int
    bytes: int


async def read_counter(program: Program, counter: CounterInfo, query: Query) -> list[Count]:
    """The cells of one counter. Raises ConnectionFailedError."""
    if counter.table_id:
        table = p4r.TableEntry(table_id=counter.table_id)
        request = p4r.Entity(direct_counter_entry=p4r.DirectCounterEntry(table_entry=table))
    else:
        request = p4r.Entity(counter_entry=p4r.CounterEntry(counter_id=counter.id))
    counts: list[Count] = []
    for entity in await query([request]):
        if entity.HasField("direct_counter_entry"):
            key = key_of(program, entity.direct_counter_entry.table_entry)
            cell, data = key.match, entity.direct_counter_entry.data
        else:
            cell, data = (entity.counter_entry.index.index,), entity.counter_entry.data
        if data.packet_count or data.byte_count:
            counts.append(Count(cell, data.packet_count, data.byte_count))
    return counts
