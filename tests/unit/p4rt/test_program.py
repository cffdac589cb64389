"""The two files of a P4 program, good and bad."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from groupflow.p4rt.program import Program, ProgramError
from tests.support.world import JSON, P4INFO


def test_our_program_loads() -> None:
    program = Program.load(P4INFO, JSON)
    assert program.cookie
    assert [field.name for field in program.tables["branches"].match_fields][2:] == ["ingress_port", "member"]
    assert program.counters["drops"].table_id == 0
    assert program.counters["stream_counter"].table_id == program.tables["streams"].id


def test_drop_reasons_are_those_of_the_p4() -> None:
    source = (JSON.parents[1] / "stages" / "metadata.p4").read_text()
    names = [
        line.split("DROP_")[1].split()[0].lower()
        for line in source.splitlines()
        if "drop_reason_t DROP_" in line
    ]
    assert tuple(names) == Program.load(P4INFO, JSON).counters["drops"].reasons


def test_reasons_are_read_as_gfswitch_reads_them(tmp_path: Path) -> None:
    text = P4INFO.read_text()
    start = text.index("(", text.index("@groupflow_reasons"))
    other = tmp_path / "p4info.txtpb"
    other.write_text(text[:start] + '( \\"none\\" , malformed )' + text[text.index(")", start) + 1 :])
    assert Program.load(other, JSON).counters["drops"].reasons == ("none", "malformed")


BAD_JSON: list[tuple[Callable[[str], str], str]] = [
    (lambda text: text[:1000], "not JSON; name the .json file that p4c-bm2-ss wrote"),
    (lambda _: "[]", "no 'pipelines', so p4c did not write it for BMv2"),
    (lambda _: '{"pipelines": 3}', "no 'pipelines', so p4c did not write it for BMv2"),
    (lambda _: '{"pipelines": [{"tables": [1, {}]}, 2]}', "no 'pipelines', so p4c did not write it for BMv2"),
    (lambda _: '{"pipelines": [{"tables": []}]}', "no table 'GroupflowIngress.sources.port_sources'"),
]


@pytest.mark.parametrize(("damage", "message"), BAD_JSON)
def test_bad_json_is_refused(damage: Callable[[str], str], message: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(damage(JSON.read_text()))
    with pytest.raises(ProgramError) as refusal:
        Program.load(P4INFO, bad)
    assert str(refusal.value).startswith(f"{bad}: {message}") and "\n" not in str(refusal.value)


BAD_P4INFO: list[tuple[Callable[[str], str], str]] = [
    (lambda _: "tables { nonsense", "not P4Info text"),
    (lambda _: "", "no table 'port_sources' with 1 match fields; name the P4Info of groupflow's program"),
    (
        lambda text: text.replace('alias: "branches"', 'alias: "twigs"'),
        "no table 'branches' with 4 match fields",
    ),
    (lambda text: text.replace('alias: "ticks"', 'alias: "x"'), "no table 'ticks' with 2 match fields"),
    (lambda text: text.replace('alias: "to_host"', 'alias: "x"'), "no action 'to_host(src, dst, ip, port)'"),
    (
        lambda text: text.replace('name: "inject"', 'name: "x"'),
        "no packet_out header with egress_port and inject",
    ),
    (
        lambda text: text.replace('name: "reason"', 'name: "x"'),
        "no packet_in header with ingress_port and reason",
    ),
]


@pytest.mark.parametrize(("damage", "message"), BAD_P4INFO)
def test_p4info_that_does_not_match_is_refused(
    damage: Callable[[str], str], message: str, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.p4info.txtpb"
    bad.write_text(damage(P4INFO.read_text()))
    with pytest.raises(ProgramError) as refusal:
        Program.load(bad, JSON)
    assert str(refusal.value).startswith(f"{bad}: {message}") and "\n" not in str(refusal.value)


def test_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="no such file or directory; run `make p4`"):
        Program.load(tmp_path / "none", JSON)
    assert json.loads(JSON.read_text())["program"]
