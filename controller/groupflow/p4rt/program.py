"""The P4 program: what the switch's target takes (BMv2: JSON), and the numbers that P4Info gives to names."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from finsy.p4schema import P4Action, P4CPMetadata, P4EntityMap, P4MatchType, P4Table
from finsy.proto import p4i
from google.protobuf import text_format

from groupflow.data import P4INFO
from groupflow.errors import InvalidError, reason
from groupflow.schema import read_schema

_DIFFUSION = (".hops.", ".external_reports.")
"""within the names of what a program without diffusion lacks"""


class ProgramError(InvalidError):
    """A program that cannot be used: one line naming the file, what is wrong, and the cure."""


@dataclass(frozen=True)
class CounterInfo:
    id: int
    name: str
    table_id: int
    """the table whose entries the counter counts; 0: the counter is indexed"""
    reasons: tuple[str, ...] = ()
    """of a counter of drops: the reason that each of its first cells stands for"""


class Room(NamedTuple):
    """The streams that a switch has room for, and the branches of each."""

    streams: int = 4096
    branches: int = 16


@dataclass(frozen=True)
class Program:
    """Names and numbers of one compiled P4 program."""

    p4info: p4i.P4Info
    blob: bytes
    cookie: int
    """identifies the program, to see whether a switch already runs it"""
    tables: P4EntityMap[P4Table]
    actions: P4EntityMap[P4Action]
    counters: Mapping[str, CounterInfo]
    registers: Mapping[str, int]
    meters: Mapping[str, int]
    """ids by name, as of the registers"""
    packet_in: Mapping[str, P4CPMetadata]
    packet_out: Mapping[str, P4CPMetadata]

    @property
    def has_diffusion(self) -> bool:
        return any(part in table.name for table in self.tables for part in _DIFFUSION)

    @property
    def room(self) -> Room:
        branches = [name for name in self.registers if name.endswith(".acked")]
        return Room(self.tables["streams"].size, len(branches))

    @staticmethod
    def load(p4info: Path, blob: Path) -> "Program":
        """Reads a compiler's two files; the same content is checked once. Raises ProgramError."""
        return _checked(p4info, _read(p4info), blob, _read(blob))

    @staticmethod
    def of(p4info: Path, blob: Path) -> "Program":
        """Reads a compiler's two files of any program, not of groupflow's alone. Raises ProgramError."""
        program = _index(_parse_p4info(p4info, _read(p4info)), _read(blob))
        _check_blob(program, blob, p4info)
        return program


def has_priority(table: P4Table) -> bool:
    """Whether entries have a priority: P4Runtime requires one where a field is ternary."""
    return any(field.match_type == P4MatchType.TERNARY for field in table.match_fields)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ProgramError(f"{path}: {reason(error)}; run `make p4`") from None


@lru_cache(maxsize=4)
def _checked(p4info: Path, info: bytes, blob: Path, content: bytes) -> Program:
    program = _index(_parse_p4info(p4info, info), content)
    _check_names(program, p4info)
    _check_blob(program, blob, p4info)
    return program


def _parse_p4info(path: Path, content: bytes) -> p4i.P4Info:
    try:
        return text_format.Parse(content.decode("utf-8"), p4i.P4Info())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise ProgramError(f"{path}: not P4Info text ({reason}); name p4c's .p4info.txtpb file") from None


def _index(info: p4i.P4Info, blob: bytes) -> Program:
    schema = read_schema(info, blob)

    def metadata(name: str) -> dict[str, P4CPMetadata]:
        header = schema.controller_packet_metadata.get(name)
        return {field.name: field for field in header.metadata} if header else {}

    counters = [
        CounterInfo(item.preamble.id, item.preamble.alias, 0, _reasons(item.preamble.annotations))
        for item in info.counters
    ]
    counters += [
        CounterInfo(item.preamble.id, item.preamble.alias, item.direct_table_id)
        for item in info.direct_counters
    ]
    return Program(
        p4info=info,
        blob=blob,
        cookie=schema.p4cookie,
        tables=schema.tables,
        actions=schema.actions,
        counters={counter.name: counter for counter in counters},
        registers={register.preamble.alias: register.preamble.id for register in info.registers},
        meters={meter.preamble.alias: meter.preamble.id for meter in info.meters},
        packet_in=metadata("packet_in"),
        packet_out=metadata("packet_out"),
    )


def _reasons(annotations: Iterable[str]) -> tuple[str, ...]:
    """The words of `@groupflow_reasons(none, ttl)`."""
    for annotation in annotations:
        name, _, words = annotation.rstrip(")").partition("(")
        if name == "@groupflow_reasons":
            return tuple(word.strip().strip('"') for word in words.split(","))
    return ()


def _check_names(program: Program, path: Path) -> None:
    """Refuses P4Info of another program or version, naming the first name that is missing from it."""
    cure = "name the P4Info of groupflow's program, or run `make p4`"
    ours = _index(_parse_p4info(P4INFO, _read(P4INFO)), b"")
    lacking = () if program.has_diffusion else _DIFFUSION
    for table in (each for each in ours.tables if not any(part in each.name for part in lacking)):
        found = program.tables.get(table.alias)
        keys = len(table.match_fields)
        if found is None or len(found.match_fields) != keys:
            raise ProgramError(f"{path}: no table '{table.alias}' with {keys} match fields; {cure}")
    for action in (each for each in ours.actions if not any(part in each.name for part in lacking)):
        found = program.actions.get(action.alias)
        params = [param.name for param in action.params]
        if found is None or {param.name for param in found.params} != set(params):
            raise ProgramError(f"{path}: no action '{action.alias}({', '.join(params)})'; {cure}")
    if "punt_meter" not in program.meters:
        raise ProgramError(f"{path}: no meter 'punt_meter'; {cure}")
    if not {"ingress_port", "reason"} <= program.packet_in.keys():
        raise ProgramError(f"{path}: no packet_in header with ingress_port and reason; {cure}")
    if not {"egress_port", "inject"} <= program.packet_out.keys():
        raise ProgramError(f"{path}: no packet_out header with egress_port and inject; {cure}")


def check_json(blob: Path) -> None:
    """Refuses a file that p4c did not write for BMv2. Raises ProgramError."""
    _table_names(blob, _read(blob))


def _check_blob(program: Program, blob: Path, p4info: Path) -> None:
    """Refuses JSON that p4c did not write for BMv2, or that is of another program than the P4Info. Only the
    switch itself can judge what another target takes."""
    if program.p4info.pkg_info.arch not in ("", "v1model"):
        return
    names = _table_names(blob, program.blob)
    for table in program.p4info.tables:
        if table.preamble.name not in names:
            raise ProgramError(
                f"{blob}: no table '{table.preamble.name}', which {p4info} has; name two files of one p4c run"
            )


def _table_names(blob: Path, content: bytes) -> set[str]:
    cure = "name the .json file that p4c-bm2-ss wrote"
    try:
        root: Any = json.loads(content)
    except (ValueError, RecursionError):
        raise ProgramError(f"{blob}: not JSON; {cure}") from None
    try:
        return {table["name"] for pipeline in root["pipelines"] for table in pipeline["tables"]}
    except (KeyError, TypeError):
        raise ProgramError(f"{blob}: no 'pipelines', so p4c did not write it for BMv2; {cure}") from None
