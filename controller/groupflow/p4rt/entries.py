"""Entries and counters of a switch as plain values, to and from P4Runtime messages.

Numbers only: addresses are integers, a longest-prefix match is two of them (address, prefix length), a
ternary match too (value, mask), and the priority of an entry that has one comes last.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from finsy.p4schema import P4MatchField, P4MatchType
from finsy.proto import p4r
from google.protobuf import json_format, struct_pb2

from groupflow.errors import UnavailableError
from groupflow.p4rt.program import CounterInfo, Program, has_priority
from groupflow.schema import GENERATOR, QUEUE, extern_entity

Query: TypeAlias = Callable[[Sequence[p4r.Entity]], Awaitable[list[p4r.Entity]]]

GROUPS = "groups"
"""Name among the table names for the replication engine's multicast groups."""

PUNT_METER = "punt_meter"
"""Name among the table names for the rates of messages to the controller; the match value is a cell."""

QUEUE_SETTINGS, GENERATORS = "queues", "generators"
"""Names among the table names for settings of gfswitch's traffic manager; BMv2 has none. Match values are
(port, queue), and (number,). Each is an ExternEntry with a Struct (docs/reference/traffic-manager.md)."""

TABLE_ORDER = (
    *("port_sources", "l3_admit", "arp_responder", "ipv4_route", "neighbours", GROUPS, "streams", "branches"),
    *(QUEUE_SETTINGS, "controlled_flows", "feedback_sources", "ticks"),
    *("external_reports", GENERATORS, PUNT_METER),
)
"""The tables, each after those that its entries refer to."""


class Key(NamedTuple):
    """The identity of an entry: a table and its match values, or `groups` and a group id."""

    table: str
    match: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.table}[{', '.join(map(str, self.match))}]"


class Action(NamedTuple):
    """The action of a table entry, with its parameters by their names in the P4."""

    name: str
    params: Mapping[str, int]


def action(name: str, /, **params: int) -> Action:
    """An action with these parameters."""
    return Action(name, params)


def mac_number(mac: str) -> int:
    return int(mac.replace(":", ""), 16)


class Replicas(NamedTuple):
    """Copies that a multicast group makes: (port, instance)."""

    copies: frozenset[tuple[int, int]]


class Rate(NamedTuple):
    """Packets that a meter lets pass: a second, and at once."""

    packets: int
    burst: int


class QueueSettings(NamedTuple):
    """Service of a queue: the highest level first, within a level by weight."""

    level: int
    weight: int


class Generator(NamedTuple):
    """A frame that arrives on a port at first + n * period."""

    period_ns: int
    first_ns: int
    port: int
    frame: bytes


Value: TypeAlias = Action | Replicas | Rate | QueueSettings | Generator
Entries: TypeAlias = dict[Key, Value]

INSERT = p4r.Update.Type.INSERT
MODIFY = p4r.Update.Type.MODIFY
DELETE = p4r.Update.Type.DELETE


class Change(NamedTuple):
    """One update of a switch; value None: the entry is deleted."""

    kind: "p4r.Update.Type.ValueType"
    key: Key
    value: Value | None


def encode(program: Program, change: Change) -> p4r.Update:
    """The P4Runtime update that carries out a change; a removed queue setting becomes the default."""
    (table, match), value = change.key, change.value
    if table == QUEUE_SETTINGS:
        settings = value if isinstance(value, QueueSettings) else _default(match[1])
        fields = {"port": match[0], "queue": match[1], **settings._asdict()}
        return p4r.Update(type=MODIFY, entity=extern_entity(QUEUE, fields))
    if table == GENERATORS:
        fields = value._asdict() | {"frame": value.frame.hex()} if isinstance(value, Generator) else {}
        return p4r.Update(type=change.kind, entity=extern_entity(GENERATOR, {"id": match[0], **fields}))
    if table == PUNT_METER:
        return p4r.Update(type=MODIFY, entity=_meter(program, change.key, value))
    return p4r.Update(type=change.kind, entity=_entity(program, change.key, value))


def inserts(program: Program, entries: Mapping[Key, Value]) -> list[p4r.Update]:
    """The updates that make the entries, each after those that it refers to."""
    keys = sorted(entries, key=lambda key: (TABLE_ORDER.index(key.table), key.match))
    return [encode(program, Change(INSERT, key, entries[key])) for key in keys]


def wildcards(program: Program) -> list[p4r.Entity]:
    """The entities to read for every entry of our tables, and every group."""
    entities = [
        p4r.Entity(table_entry=p4r.TableEntry(table_id=table.id))
        for name in TABLE_ORDER
        if (table := program.tables.get(name))
    ]
    replication = p4r.PacketReplicationEngineEntry(multicast_group_entry=p4r.MulticastGroupEntry())
    meters = p4r.MeterEntry(meter_id=program.meters[PUNT_METER])
    return [
        *entities,
        p4r.Entity(packet_replication_engine_entry=replication),
        p4r.Entity(meter_entry=meters),
    ]


def extern_wildcards() -> list[p4r.Entity]:
    """The entities to read for every queue and every generator."""
    return [extern_entity(extern, {}) for extern in (QUEUE, GENERATOR)]


def decode(program: Program, entities: Iterable[p4r.Entity]) -> Entries:
    """The entries in a switch's answer. Raises UnavailableError."""
    found: Entries = {}
    for entity in entities:
        if entity.HasField("table_entry"):
            entry = entity.table_entry
            known = program.actions.get(entry.action.action.action_id)
            if known is None:
                raise UnavailableError(f"table entry with action id {entry.action.action.action_id}")
            key = key_of(program, entry)
            values = {param.param_id: _number(param.value) for param in entry.action.action.params}
            found[key] = Action(known.alias, {param.name: values[param.id] for param in known.params})
        elif entity.HasField("packet_replication_engine_entry"):
            group = entity.packet_replication_engine_entry.multicast_group_entry
            copies = frozenset((_replica_port(replica), replica.instance) for replica in group.replicas)
            found[Key(GROUPS, (group.multicast_group_id,))] = Replicas(copies)
        elif entity.HasField("meter_entry"):
            if entity.meter_entry.HasField("config"):  # a rate was set
                config = entity.meter_entry.config
                found[Key(PUNT_METER, (entity.meter_entry.index.index,))] = Rate(config.cir, config.cburst)
        elif entity.HasField("extern_entry"):
            found |= _read_extern(entity.extern_entry)
        else:
            raise UnavailableError(f"{entity.WhichOneof('entity')}")
    return found


def key_of(program: Program, entry: p4r.TableEntry) -> Key:
    """The table and match values of an entry. Raises UnavailableError."""
    table = program.tables.get(entry.table_id)
    if table is None or (len(entry.match) != len(table.match_fields) and not has_priority(table)):
        raise UnavailableError(f"table entry of table id {entry.table_id}")
    priority = (entry.priority,) if has_priority(table) else ()
    return Key(table.alias, (*_decode_match(table.match_fields, entry), *priority))


def _default(queue: int) -> QueueSettings:
    """The settings of a queue that were never set."""
    return QueueSettings(queue, 1)


def _read_extern(entry: p4r.ExternEntry) -> Entries:
    """A setting of the traffic manager; none for a queue with its defaults."""
    struct = struct_pb2.Struct()
    entry.entry.Unpack(struct)
    fields = json_format.MessageToDict(struct)
    is_queue = entry.extern_type_id == QUEUE
    names = ("port", "queue", "level", "weight") if is_queue else ("port", "id", "period_ns", "first_ns")
    port, number, first, second = (int(fields[name]) for name in names)
    if not is_queue:
        generator = Generator(first, second, port, bytes.fromhex(fields["frame"]))
        return {Key(GENERATORS, (number,)): generator}
    settings = QueueSettings(first, second)
    return {} if settings == _default(number) else {Key(QUEUE_SETTINGS, (port, number)): settings}


def _meter(program: Program, key: Key, value: Value | None) -> p4r.Entity:
    entry = p4r.MeterEntry(meter_id=program.meters[PUNT_METER], index=p4r.Index(index=key.match[0]))
    if isinstance(value, Rate):
        entry.config.cir = entry.config.pir = value.packets
        entry.config.cburst = entry.config.pburst = value.burst
    return p4r.Entity(meter_entry=entry)


def _entity(program: Program, key: Key, value: Value | None) -> p4r.Entity:
    if key.table == GROUPS:
        group = p4r.MulticastGroupEntry(multicast_group_id=key.match[0])
        if isinstance(value, Replicas):
            for port, instance in sorted(value.copies):
                group.replicas.add(egress_port=port, instance=instance)
        return p4r.Entity(
            packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(multicast_group_entry=group)
        )
    table = program.tables[key.table]
    entry = p4r.TableEntry(table_id=table.id)
    values = iter(key.match)
    for field in table.match_fields:
        if field.match_type == P4MatchType.TERNARY:
            number, mask = next(values), next(values)
            if mask:  # a field that matches any value is left out
                entry.match.add(field_id=field.id).ternary.CopyFrom(
                    p4r.FieldMatch.Ternary(value=_bytes(number), mask=_bytes(mask))
                )
            continue
        match = entry.match.add(field_id=field.id)
        if field.match_type == P4MatchType.LPM:
            match.lpm.value, match.lpm.prefix_len = _bytes(next(values)), next(values)
        else:
            match.exact.value = _bytes(next(values))
    if has_priority(table):
        entry.priority = next(values)
    if isinstance(value, Action):
        known = program.actions[value.name]
        entry.action.action.action_id = known.id
        for param in known.params:
            entry.action.action.params.add(param_id=param.id, value=_bytes(value.params[param.name]))
    return p4r.Entity(table_entry=entry)


def _decode_match(fields: Iterable[P4MatchField], entry: p4r.TableEntry) -> tuple[int, ...]:
    matches = {match.field_id: match for match in entry.match}
    numbers: list[int] = []
    for field in fields:
        if field.match_type == P4MatchType.TERNARY:
            given = matches[field.id].ternary if field.id in matches else None
            numbers += (_number(given.value), _number(given.mask)) if given else (0, 0)
            continue
        match = matches[field.id]
        if field.match_type == P4MatchType.LPM:
            numbers += (_number(match.lpm.value), match.lpm.prefix_len)
        else:
            numbers.append(_number(match.exact.value))
    return tuple(numbers)


def _replica_port(replica: p4r.Replica) -> int:
    if replica.HasField("port"):
        return _number(replica.port)
    return replica.egress_port  # pyright: ignore[reportDeprecated]  (all that BMv2 knows)


def _bytes(number: int) -> bytes:
    """The shortest byte string of a number, as P4Runtime requires."""
    return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


class Count(NamedTuple):
    cell: tuple[int, ...]
    """a number, or the match values of the table entry that is counted"""
    packets: int
    bytes: int


async def read_counter(program: Program, counter: CounterInfo, query: Query) -> list[Count]:
    """The cells of one counter of the P4 program that counted. Raises ConnectionFailedError."""
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
