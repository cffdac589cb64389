"""Reads the P4 program's counters by name, leaving out cells that never counted."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

from finsy.proto import p4r

from groupflow.p4rt.entries import key_of
from groupflow.p4rt.program import CounterInfo, Program

Query: TypeAlias = Callable[[Sequence[p4r.Entity]], Awaitable[list[p4r.Entity]]]

DROP_REASONS = (
    "none",
    "malformed",
    "checksum",
    "unknown_protocol",
    "not_for_us",
    "ttl",
    "no_route",
    "no_arp",
    "unknown_session",
    "wrong_port",
    "unknown_branch",
    "unknown_type",
    "no_upstream",
    "not_controller",
    "absorbed",
    "wrong_neighbour",
    "not_generator",
    "unknown_flow",
    "refused",
    "spoofed",
    "not_agent",
    "not_switch",
    "fragment",
    "foreign_group",
    "metered",
    "beyond",
)
"""Reasons by index of counter `drops`, in the order of DROP_* in p4src/stages/metadata.p4."""


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
