"""Settings of gfswitch's traffic manager over P4Runtime: queues and packet generators, as ExternEntry.

Each is a google.protobuf.Struct; docs/reference/traffic-manager.md lists the fields. BMv2 has none.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from finsy.proto import p4r
from google.protobuf import json_format, struct_pb2

QUEUE_SETTINGS, GENERATORS = "queues", "generators"
"""Names among the table names; match values are (port, queue), and (number,)."""

_TYPES = {QUEUE_SETTINGS: 0x81, GENERATORS: 0x83}
_UPDATE = p4r.Update.Type
_Struct: TypeAlias = Mapping[str, str | float | bool | None]


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


def default_queue(queue: int) -> QueueSettings:
    """The settings of a queue that were never set."""
    return QueueSettings(queue, 1)


def encode(
    kind: _UPDATE.ValueType, table: str, match: tuple[int, ...], value: QueueSettings | Generator | None
) -> p4r.Update:
    """The update that makes, changes or removes a setting; a removed queue setting becomes the default."""
    if table == QUEUE_SETTINGS:
        settings = value if isinstance(value, QueueSettings) else default_queue(match[1])
        fields = {"port": match[0], "queue": match[1], **settings._asdict()}
        return p4r.Update(type=_UPDATE.MODIFY, entity=_entity(QUEUE_SETTINGS, fields))
    frame = {"frame": value.frame.hex()} if isinstance(value, Generator) else {}
    fields = {"id": match[0], **(value._asdict() if value else {}), **frame}
    return p4r.Update(type=kind, entity=_entity(GENERATORS, fields))


def wildcards() -> list[p4r.Entity]:
    """The entities to read for every queue and every generator."""
    return [_entity(table, {}) for table in _TYPES]


def decode(entry: p4r.ExternEntry) -> tuple[str, tuple[int, ...], QueueSettings | Generator] | None:
    """Table, match and value; None for a queue with its defaults."""
    struct = struct_pb2.Struct()
    entry.entry.Unpack(struct)
    fields: dict[str, object] = json_format.MessageToDict(struct)
    if entry.extern_type_id == _TYPES[QUEUE_SETTINGS]:
        port, queue = _number(fields, "port"), _number(fields, "queue")
        settings = QueueSettings(_number(fields, "level"), _number(fields, "weight"))
        return None if settings == default_queue(queue) else (QUEUE_SETTINGS, (port, queue), settings)
    generator = Generator(
        _number(fields, "period_ns"),
        _number(fields, "first_ns"),
        _number(fields, "port"),
        bytes.fromhex(str(fields["frame"])),
    )
    return GENERATORS, (_number(fields, "id"),), generator


def _entity(table: str, fields: _Struct) -> p4r.Entity:
    struct = struct_pb2.Struct()
    struct.update(fields)
    entry = p4r.ExternEntry(extern_type_id=_TYPES[table])
    entry.entry.Pack(struct)
    return p4r.Entity(extern_entry=entry)


def _number(fields: Mapping[str, object], name: str) -> int:
    value = fields[name]
    assert isinstance(value, float | int)
    return int(value)
