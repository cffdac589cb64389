"""`gfswitch-cli`: tables.

An entry's handle is in its P4Runtime metadata. Entries of other clients keep theirs: they have handles that
come from their keys.
"""

import re
import zlib
from collections.abc import Callable, Sequence

from finsy import GRPCStatusCode
from finsy.proto import p4i, p4r

from groupflow.bmv2.profiles import Profiles
from groupflow.bmv2.remote import DELETE, INSERT, MODIFY, Kind, RefusedError, Remote, integer, lookup
from groupflow.bmv2.values import (
    COMMA,
    KINDS,
    TAB,
    Lines,
    field_name,
    parse_match,
    parsed_action,
    show_match,
    shown_action,
)  # fmt: skip

_HANDLE = re.compile(rb"handle=(\d{1,9})")
_FOREIGN = 1 << 24
"""the first handle, and the number, of handles of entries without one"""
_LOWEST = (1 << 31) - 1
"""BMv2's priorities are better the lower they are, P4Runtime's the higher: each is this less the other"""


class Tables:
    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._info = remote.p4info
        self._handles: dict[int, dict[int, p4r.TableEntry]] = {}
        """entries by table and handle, as far as they were read"""
        self._free: dict[int, int] = {}
        """a number by table below which all handles are used"""

    def table(self, name: str) -> p4i.Table:
        return lookup("table", self._info.tables, name)

    def entries(self, table: p4i.Table) -> dict[int, p4r.TableEntry]:
        """The entries that are there now, by handle."""
        wanted = p4r.TableEntry(table_id=table.preamble.id)
        found = [each.table_entry for each in self._remote.read(p4r.Entity(table_entry=wanted))]
        handles: dict[int, p4r.TableEntry] = {}
        others: list[p4r.TableEntry] = []
        for entry in found:
            own = _HANDLE.fullmatch(entry.metadata)
            if own and int(own[1]) not in handles:
                handles[int(own[1])] = entry
            else:
                others.append(entry)
        for entry in others:
            key = p4r.TableEntry(match=entry.match, priority=entry.priority)
            crc = zlib.crc32(key.SerializeToString(deterministic=True))
            number = 0 if entry.is_const else _FOREIGN + crc % _FOREIGN
            while number in handles:
                number += 1
            handles[number] = entry
        self._handles[table.preamble.id], self._free[table.preamble.id] = handles, 0
        return handles

    def entry(self, table: p4i.Table, handle: str) -> p4r.TableEntry:
        """A copy of an entry as it was when the entries were read."""
        number = integer(handle, "entry handle")
        known = self._handles.get(table.preamble.id, {})
        entry = known.get(number) or self.entries(table).get(number)
        if entry is None:
            raise RefusedError("Invalid table operation (INVALID_HANDLE)")
        return p4r.TableEntry.FromString(entry.SerializeToString())

    def set_default(self, name: str, action: str, *words: str) -> Lines:
        table = self.table(name)
        chosen, shown = self._action(table, name, action, words)
        yield f"Setting default action of {name}"
        yield f"{'action:':20} {action}"
        yield f"{'runtime data:':20} {shown}"
        self._default(table, p4r.TableAction(action=chosen))

    def reset_default(self, name: str) -> None:
        self._default(self.table(name), None)

    def _default(self, table: p4i.Table, action: p4r.TableAction | None) -> None:
        entry = p4r.TableEntry(table_id=table.preamble.id, is_default_action=True, action=action)
        self._write(MODIFY, entry)

    def add(self, name: str, action: str, *words: str) -> Lines:
        table = self.table(name)
        key, rest, priority = _split(table, name, words)
        chosen, shown = self._action(table, name, action, rest)
        entry = _entry(table, key, priority, p4r.TableAction(action=chosen))
        yield f"Adding entry to {_kind(table)} match table {name}"
        matches = {match.field_id: match for match in entry.match}
        fields = [
            f"{KINDS[field.match_type].upper()}-{show_match(field, matches.get(field.id), ':')}"
            for field in table.match_fields
        ]
        yield f"{'match key:':20} {TAB.join(fields)}"
        yield f"{'action:':20} {action}"
        yield f"{'runtime data:':20} {shown}"
        if table.implementation_id:
            raise RefusedError("Invalid table operation (WRONG_TABLE_TYPE)")
        yield f"Entry has been added with handle {self._insert(table, entry)}"

    def add_indirect(self, what: str) -> Callable[..., Lines]:
        def add(name: str, *words: str) -> Lines:
            table = self.table(name)
            key, rest, priority = _split(table, name, words)
            action = _chosen(what, rest[0] if len(rest) == 1 else "")
            yield f"Adding entry to indirect match table {table.preamble.name}"
            handle = self._insert(table, _entry(table, key, priority, action))
            yield f"Entry has been added with handle {handle}"

        return add

    def _insert(self, table: p4i.Table, entry: p4r.TableEntry) -> int:
        known = self._handles.get(table.preamble.id)
        known = self.entries(table) if known is None else known
        number = self._free[table.preamble.id]
        while number in known:
            number += 1
        entry.metadata = b"handle=%d" % number
        self._write(INSERT, entry)
        known[number] = entry
        self._free[table.preamble.id] = number
        return number

    def modify(self, name: str, action: str, handle: str, *words: str) -> Lines:
        table = self.table(name)
        chosen, _ = self._action(table, name, action, words[1:] if words[:1] == ("=>",) else words)
        yield f"Modifying entry {integer(handle, 'entry handle')} for {_kind(table)} match table {name}"
        entry = self.entry(table, handle)
        entry.action.CopyFrom(p4r.TableAction(action=chosen))
        self._change(table, handle, entry)

    def set_timeout(self, name: str, handle: str, milliseconds: str) -> Lines:
        table = self.table(name)
        entry = self.entry(table, handle)
        entry.idle_timeout_ns = integer(milliseconds, "timeout") * 1_000_000
        yield f"Setting a {int(milliseconds, 0)} ms timeout for entry {int(handle, 0)}"
        self._change(table, handle, entry)

    def _change(self, table: p4i.Table, handle: str, entry: p4r.TableEntry) -> None:
        self._write(MODIFY, entry)
        self._handles[table.preamble.id][int(handle, 0)] = entry

    def delete(self, name: str, handle: str) -> Lines:
        table = self.table(name)
        yield f"Deleting entry {integer(handle, 'entry handle')} from {name}"
        entry = self.entry(table, handle)
        self._write(DELETE, entry)
        number = int(handle, 0)
        del self._handles[table.preamble.id][number]
        self._free[table.preamble.id] = min(number, self._free[table.preamble.id])

    def clear(self, name: str) -> None:
        table = self.table(name)
        self._write(DELETE, *self.entries(table).values())
        self._handles.pop(table.preamble.id)

    def num_entries(self, name: str) -> Lines:
        yield str(len(self.entries(self.table(name))))

    def show(self) -> Lines:
        for table in sorted(self._info.tables, key=lambda table: table.preamble.name):
            yield self._shown(table)

    def show_actions(self, name: str | None = None) -> Lines:
        """The actions of one table, or of the program."""
        wanted = {each.id for each in self.table(name).action_refs} if name else None
        for action in sorted(self._info.actions, key=lambda action: action.preamble.name):
            if wanted is None or action.preamble.id in wanted:
                params = COMMA.join(f"{param.name}({param.bitwidth})" for param in action.params)
                yield f"{action.preamble.name:30} [{params}]"

    def info(self, name: str) -> Lines:
        yield self._shown(self.table(name))
        yield "*" * 80
        yield from self.show_actions(name)

    def _shown(self, table: p4i.Table) -> str:
        key = (
            f"{field_name(field)}({KINDS[field.match_type]}, {field.bitwidth})"
            for field in table.match_fields
        )
        profiles = (each.preamble for each in self._info.action_profiles)
        profile = next((each.name for each in profiles if each.id == table.implementation_id), None)
        return f"{table.preamble.name:30} [implementation={profile}, mk={COMMA.join(key)}]"

    def dump_entry(self, name: str, handle: str) -> Lines:
        table = self.table(name)
        number = integer(handle, "entry handle")
        self.entries(table)
        yield from self._dump(table, number, self.entry(table, handle))

    def dump_key(self, name: str, *words: str) -> Lines:
        table = self.table(name)
        key, _, priority = _split(table, name, words)
        wanted = _entry(table, key, priority, None)
        for handle, entry in self.entries(table).items():
            if (list(entry.match), entry.priority) == (list(wanted.match), wanted.priority):
                yield from self._dump(table, handle, entry)
                return
        raise RefusedError("Invalid table operation (BAD_MATCH_KEY)")

    def dump(self, name: str) -> Lines:
        table = self.table(name)
        yield from ("==========", "TABLE ENTRIES")
        for handle, entry in sorted(self.entries(table).items()):
            yield "**********"
            yield from self._dump(table, handle, entry)
        for profile in self._info.action_profiles:
            if profile.preamble.id == table.implementation_id:
                yield from Profiles(self._remote).dump(profile.preamble.name)
        default = p4r.TableEntry(table_id=table.preamble.id, is_default_action=True)
        yield from ("==========", "Dumping default entry")
        for found in self._remote.read(p4r.Entity(table_entry=default)):
            action = found.table_entry.action
            # P4Runtime gives NoAction where a table with a profile has no default entry.
            is_empty = table.implementation_id and action.WhichOneof("type") == "action"
            yield "EMPTY" if is_empty else shown_action(self._info, action)
        yield "=========="

    def _dump(self, table: p4i.Table, handle: int, entry: p4r.TableEntry) -> Lines:
        matches = {match.field_id: match for match in entry.match}
        width = max([20, *(len(field_name(field)) for field in table.match_fields)])
        yield f"Dumping entry {handle:#x}"
        yield "Match key:"
        for field in table.match_fields:
            kind, shown = KINDS[field.match_type].upper(), show_match(field, matches.get(field.id))
            yield f"* {field_name(field):{width}}: {kind:10}{shown}"
        if _has_priority(table):
            yield f"Priority: {_LOWEST - entry.priority}"
        yield shown_action(self._info, entry.action)

    def _action(
        self, table: p4i.Table, called: str, name: str, words: Sequence[str]
    ) -> tuple[p4r.Action, str]:
        allowed = {each.id for each in table.action_refs}
        try:
            return parsed_action(self._info, allowed, name, words)
        except LookupError:
            raise RefusedError(f"Table {called} has no action {name}") from None

    def _write(self, kind: Kind, *entries: p4r.TableEntry) -> None:
        try:
            for start in range(0, len(entries), 500):
                part = entries[start : start + 500]
                self._remote.write(kind, *(p4r.Entity(table_entry=entry) for entry in part))
        except RefusedError as error:
            missing = "INVALID_HANDLE"
            if kind == INSERT:
                member = entries[0].action.action_profile_member_id
                missing = f"INVALID_{'MBR' if member else 'GRP'}_HANDLE"
            names = {
                GRPCStatusCode.ALREADY_EXISTS: "DUPLICATE_ENTRY",
                GRPCStatusCode.RESOURCE_EXHAUSTED: "TABLE_FULL",
                GRPCStatusCode.NOT_FOUND: missing,
            }
            name = names.get(error.code)
            raise RefusedError(f"Invalid table operation ({name})" if name else str(error)) from None


def _chosen(what: str, handle: str) -> p4r.TableAction:
    number = integer(handle, f"{what} handle") + 1
    if what == "group":
        return p4r.TableAction(action_profile_group_id=number)
    return p4r.TableAction(action_profile_member_id=number)


def _kind(table: p4i.Table) -> str:
    kinds = {KINDS[field.match_type] for field in table.match_fields}
    return next((kind for kind in ("range", "ternary", "lpm") if kind in kinds), "exact")


def _has_priority(table: p4i.Table) -> bool:
    return _kind(table) in ("range", "ternary")


def _split(table: p4i.Table, called: str, words: Sequence[str]) -> tuple[Sequence[str], Sequence[str], int]:
    """The key, the words after `=>`, and P4Runtime's priority. Raises RefusedError."""
    priority = 0
    if _has_priority(table):
        if not words or not words[-1].isdecimal():
            raise RefusedError("Table is ternary, but could not extract a valid priority from args")
        priority, words = _LOWEST - integer(words[-1].lstrip("0") or "0", "priority", _LOWEST - 1), words[:-1]
    end = words.index("=>") if "=>" in words else len(words)
    if end != len(table.match_fields):
        raise RefusedError(f"Table {called} needs {len(table.match_fields)} key fields")
    return words[:end], words[end + 1 :], priority


def _entry(
    table: p4i.Table, key: Sequence[str], priority: int, action: p4r.TableAction | None
) -> p4r.TableEntry:
    fields = zip(table.match_fields, key, strict=True)
    match = [found for field, word in fields if (found := parse_match(field, word))]
    return p4r.TableEntry(table_id=table.preamble.id, match=match, priority=priority, action=action)
