"""finsy's schema for any program, as finsy refuses P4Info with two keys of one last name, or with an error;
and entities that finsy lacks: gfswitch's queues, ports and generators."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from finsy import P4Schema, p4schema
from finsy.proto import p4d, p4i, p4r, p4t
from google.protobuf import struct_pb2


def read_schema(info: p4i.P4Info, blob: Any = None) -> P4Schema:
    """The names of a program. A short name that two entities share names neither; the error lists both."""
    known, info = info, p4i.P4Info.FromString(info.SerializeToString())
    del info.action_profiles[:]  # finsy looks for the first table
    info.action_profiles.extend(profile for profile in known.action_profiles if profile.table_ids)
    # P4Info has an action with @hidden in its tables only.
    refs = {one.id for table in info.tables for one in table.action_refs}
    for unknown in refs.difference(one.preamble.id for one in info.actions):
        info.actions.add(preamble=p4i.Preamble(id=unknown, name=f"hidden-{unknown}"))
    return P4Schema(info, blob)


QUEUE, PORT, GENERATOR = 0x81, 0x82, 0x83
"""types of an ExternEntry (docs/reference/traffic-manager.md)"""


def extern_entity(extern: int, fields: Mapping[str, Any]) -> p4r.Entity:
    """A queue, a port or a generator with these fields."""
    struct = struct_pb2.Struct()
    struct.update(fields)
    entry = p4r.ExternEntry(extern_type_id=extern)
    entry.entry.Pack(struct)
    return p4r.Entity(extern_entry=entry)


_T = TypeVar("_T")


class _Names(p4schema.P4EntityMap[_T]):
    """Entities by id, by full name, and by short name where one entity alone has it."""

    def __init__(self, entry_type: str) -> None:
        super().__init__(entry_type)
        self._short = dict[str, list[str]]()
        """full names by short name"""

    def _add(self, entity: Any, split_suffix: bool = False) -> None:
        if entity.id in self._by_id:
            raise ValueError(f"id already exists: {entity.id!r}")
        self._by_id[entity.id] = entity
        self._add_name(entity.name, entity)
        alias = getattr(entity, "alias", entity.name)
        for short in {alias, alias.rpartition(".")[2]} if split_suffix else {alias}:
            if short != entity.name:
                self._add_short(short, entity)

    def _add_short(self, short: str, entity: Any) -> None:
        names = self._short.setdefault(short, [])
        names.append(entity.name)
        if len(names) > 1 and hasattr(entity, "_alias"):  # a key, which finsy reads back by its short name
            for field in map(cast(dict[str, Any], self._by_name).__getitem__, names):
                field._alias = field.name

    def get(self, key: str | int) -> Any:
        found = super().get(key)
        if found is None and len(names := self._short.get(str(key), [])) == 1:
            found = super().get(names[0])
        return found

    def _key_error(self, key: str | int) -> Any:
        if len(names := self._short.get(str(key), [])) > 1:
            raise ValueError(f"{self._entry_type} {key!r} is ambiguous; name one of {', '.join(names)}")
        super()._key_error(key)


@dataclass(frozen=True)
class _WordType:
    """P4's types `error`, and `enum` without numbers: a value is its name."""

    type_name: str

    def encode_data(self, value: str) -> p4d.P4Data:
        data = p4d.P4Data()
        setattr(data, self.type_name, value)
        return data

    def decode_data(self, data: p4d.P4Data) -> str:
        return getattr(data, self.type_name)


_parse = p4schema._parse_type_spec  # pyright: ignore[reportPrivateUsage]


def _parse_type_spec(type_spec: p4t.P4DataTypeSpec, type_info: Any) -> Any:
    kind = type_spec.WhichOneof("type_spec")
    return _WordType(kind) if kind in ("error", "enum") else _parse(type_spec, type_info)


p4schema.P4EntityMap = _Names
p4schema._parse_type_spec = _parse_type_spec  # pyright: ignore[reportPrivateUsage]
