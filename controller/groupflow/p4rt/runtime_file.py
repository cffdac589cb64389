"""Entries of a P4 program of one's own from a file, written to a switch over P4Runtime.

A `.json` file is in the form of p4lang/tutorials (`s1-runtime.json`); any other is a P4Runtime WriteRequest
in protobuf's text form.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from finsy import (
    P4CloneSessionEntry,
    P4MulticastGroupEntry,
    P4Schema,
    P4TableAction,
    P4TableEntry,
    P4TableMatch,
)
from finsy.proto import p4r
from google.protobuf import text_format

from groupflow.errors import reason
from groupflow.p4rt.connection import connect
from groupflow.p4rt.program import Program, ProgramError
from groupflow.schema import read_schema

Json: TypeAlias = Mapping[str, Any]
_ELECTION_ID = 1
"""the lowest, so that any controller may follow"""


def named_p4info(file: Path) -> str | None:
    """The P4Info that an entries file names itself. Raises ProgramError."""
    return _json(file).get("p4info") if file.suffix == ".json" else None


def load_entries(file: Path, program: Program) -> list[p4r.Update]:
    """The updates that a file asks for. Raises ProgramError that names the file and the entry."""
    if file.suffix != ".json":
        try:
            return [*text_format.Parse(_text(file), p4r.WriteRequest()).updates]
        except text_format.ParseError as error:
            raise ProgramError(
                f"{file}: not a WriteRequest in text form: {str(error).splitlines()[0]}"
            ) from None
    schema = read_schema(program.p4info)
    form = _json(file)
    updates: list[p4r.Update] = []
    for key, encode in _ENTRIES.items():
        for place, given in enumerate(form.get(key, ())):
            try:
                updates.append(encode(schema, given))
            except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
                missing = "missing " if isinstance(error, KeyError) else ""
                raise ProgramError(f"{file}: {key}[{place}]: {missing}{error}") from None
    return updates


async def write_entries(
    address: str, device_id: int, program: Program, updates: Sequence[p4r.Update]
) -> None:
    """Writes them as primary, and leaves. Raises ProgramError for those refused, ConnectionFailedError."""
    connection = await connect(address, device_id, program, _ELECTION_ID)
    try:
        refusals = await connection.update(updates)
    finally:
        await connection.close()
    if refusals:
        index, reason = next(iter(refusals.items()))
        raise ProgramError(f"entry {index + 1} of {len(updates)} is refused: {reason}")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ProgramError(f"{file}: {reason(error)}") from None
    except UnicodeDecodeError:
        raise ProgramError(f"{file}: not UTF-8 text; name a file of entries") from None


def _json(file: Path) -> Json:
    try:
        form = cast(object, json.loads(_text(file)))
    except (ValueError, RecursionError) as error:
        raise ProgramError(f"{file}: not JSON ({error})") from None
    if not isinstance(form, dict):
        raise ProgramError(f"{file}: not an object; write table_entries and others in one")
    return cast(Json, form)


def _table_entry(schema: P4Schema, given: Json) -> p4r.Update:
    match = {name: _plain(value) for name, value in given.get("match", {}).items()}
    default = bool(given.get("default_action"))
    entry = P4TableEntry(
        given["table"],
        match=P4TableMatch(match) if match else None,
        action=P4TableAction(given["action_name"], **given.get("action_params", {})),
        is_default_action=default,
        priority=int(given.get("priority") or 0),
    )
    kind = p4r.Update.MODIFY if default else p4r.Update.INSERT
    return p4r.Update(type=kind, entity=entry.encode(schema))


def _plain(value: object) -> object:
    """An exact value may be written as a list of one."""
    values: list[object] = cast(list[object], value) if isinstance(value, list) else []
    return values[0] if len(values) == 1 else cast(object, value)


def _replicas(given: Json) -> list[tuple[int, int]]:
    return [(each["egress_port"], each.get("instance", 0)) for each in given["replicas"]]


def _group(schema: P4Schema, given: Json) -> p4r.Update:
    entry = P4MulticastGroupEntry(given["multicast_group_id"], replicas=_replicas(given))
    return p4r.Update(type=p4r.Update.INSERT, entity=entry.encode(schema))


def _clone(schema: P4Schema, given: Json) -> p4r.Update:
    length = given.get("packet_length_bytes", 0)
    entry = P4CloneSessionEntry(
        given["clone_session_id"], replicas=_replicas(given), packet_length_bytes=length
    )
    return p4r.Update(type=p4r.Update.INSERT, entity=entry.encode(schema))


_ENTRIES: Mapping[str, Callable[[P4Schema, Json], p4r.Update]] = {
    "table_entries": _table_entry,
    "multicast_group_entries": _group,
    "clone_session_entries": _clone,
}
