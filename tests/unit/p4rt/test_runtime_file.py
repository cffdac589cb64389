"""Entries from a file in the form of p4lang/tutorials, or of a WriteRequest; bad ones are refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest
from finsy.proto import p4r

from groupflow.p4rt.program import Program, ProgramError
from groupflow.p4rt.runtime_file import load_entries, write_entries
from tests.support import exercise
from tests.unit.p4rt.p4runtime_server import FakeP4Runtime, p4runtime

ENTRIES = exercise.runtime({1: 1, 2: 2})


@pytest.fixture
def program(tmp_path: Path) -> Program:
    exercise.write(tmp_path)
    return Program.of(tmp_path / "build/basic.p4.p4info.txtpb", tmp_path / "build/basic.json")


def read(folder: Path, program: Program, form: object, name: str = "s1.json") -> list[p4r.Update]:
    file = folder / name
    file.write_text(form if isinstance(form, str) else json.dumps(form))
    return load_entries(file, program)


def test_an_exercises_entries_become_updates(tmp_path: Path, program: Program) -> None:
    more: dict[str, Any] = {
        "multicast_group_entries": [
            {"multicast_group_id": 5, "replicas": [{"egress_port": 1, "instance": 2}, {"egress_port": 3}]}
        ],
        "clone_session_entries": [{"clone_session_id": 9, "replicas": [{"egress_port": 4, "instance": 1}]}],
    }
    default, one, _, group, clone = read(tmp_path, program, ENTRIES | more)
    assert default.type == p4r.Update.MODIFY and default.entity.table_entry.is_default_action
    entry = one.entity.table_entry
    assert one.type == p4r.Update.INSERT
    assert (entry.match[0].lpm.value, entry.match[0].lpm.prefix_len) == (b"\x0a\x00\x01\x01", 32)
    params = {param.param_id: param.value for param in entry.action.action.params}
    assert params == {1: b"\x08\x00\x00\x00\x01\x11", 2: b"\x01"}
    copies = group.entity.packet_replication_engine_entry.multicast_group_entry.replicas
    assert [each.instance for each in copies] == [2, 0]
    assert clone.entity.packet_replication_engine_entry.clone_session_entry.session_id == 9


def test_a_write_request_in_text_form(tmp_path: Path, program: Program) -> None:
    (update,) = read(
        tmp_path, program, "updates { type: INSERT entity { table_entry { table_id: 7 } } }", "s1.txt"
    )
    assert update.entity.table_entry.table_id == 7


async def test_entries_are_written_and_refusals_told(tmp_path: Path, program: Program) -> None:
    updates = read(tmp_path, program, ENTRIES)[1:]
    async with p4runtime(service := FakeP4Runtime()) as address:
        await write_entries(address, 1, program, updates)
        assert len(service.entities) == 2 and service.highest == 1
        with pytest.raises(ProgramError, match="entry 1 of 2 is refused: not as expected"):
            await write_entries(address, 1, program, updates)


ENTRY = ENTRIES["table_entries"][1]
BAD: list[tuple[object, str]] = [
    ("{", "s1.json: not JSON"),
    ("[]", "s1.json: not an object"),
    ({"table_entries": [ENTRY | {"table": "x"}]}, "s1.json: table_entries[0]: no P4Table named 'x'"),
    ({"table_entries": [ENTRY, {}]}, "s1.json: table_entries[1]: missing 'table'"),
    ({"table_entries": [ENTRY | {"action_params": {"port": 1}}]}, "missing parameters {'dstAddr'}"),
    ({"table_entries": [ENTRY | {"match": {"hdr.ipv4.dstAddr": ["x", 32]}}]}, "table_entries[0]: "),
    (
        {"multicast_group_entries": [{"multicast_group_id": 5}]},
        "multicast_group_entries[0]: missing 'replicas'",
    ),
]


@pytest.mark.parametrize(("form", "error"), BAD, ids=[error for _, error in BAD])
def test_a_bad_file_is_one_line(tmp_path: Path, program: Program, form: object, error: str) -> None:
    with pytest.raises(ProgramError) as refused:
        read(tmp_path, program, form)
    assert error in str(refused.value)
    assert "\n" not in str(refused.value)


def test_text_that_is_no_write_request(tmp_path: Path, program: Program) -> None:
    with pytest.raises(ProgramError, match=r"s1\.txt: not a WriteRequest in text form: "):
        read(tmp_path, program, "updates {", "s1.txt")
