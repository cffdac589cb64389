"""The P4 compiler from Python: `Switch.compile`, `groupflow p4`, topologies and scenarios."""

from __future__ import annotations

import json
from pathlib import Path

import finsy
import pytest
from finsy.proto import p4i
from google.protobuf import text_format

from groupflow import Switch, sim
from groupflow.cli.main import main
from groupflow.compiler import CompileError, compile_p4
from groupflow.errors import InvalidError
from groupflow.sim.model import ScenarioError

P4SRC = Path(__file__).parents[2] / "p4src"
PROGRAM = """\
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers_t { ethernet_t ethernet; }
struct meta_t {}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.ethernet); transition accept; }
}
control None(inout headers_t hdr, inout meta_t meta) { apply {} }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    @id(7) action forward(bit<9> port) { standard.egress_spec = port; }
    action drop() { mark_to_drop(standard); }
    table hosts {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = SIZE;
    }
    apply { hosts.apply(); }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ethernet); } }
V1Switch(P(), None(), I(), E(), None(), D()) main;
"""
FRAME = bytes.fromhex("020000000001 020000000002 0800").ljust(60, b"x")
STACK = """\
#include <core.p4>
#include <v1model.p4>

header label_t { bit<8> place; bit<8> value; }
struct headers_t { label_t[4] labels; }
struct meta_t { bit<8> place; }

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    state start {
        meta.place = packet.lookahead<bit<8>>();
        packet.extract(hdr.labels[meta.place]);
        hdr.labels[meta.place].value = 7;
        transition accept;
    }
}
control None(inout headers_t hdr, inout meta_t meta) { apply {} }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 1;
        if (hdr.labels[2].isValid()) {
            hdr.labels[meta.place + 1] = hdr.labels[meta.place];
            hdr.labels[meta.place].place = hdr.labels[meta.place].value;
        }
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.labels); } }
V1Switch(P(), None(), I(), E(), None(), D()) main;
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A file of P4."""
    (tmp_path / "prog.p4").write_text(PROGRAM.replace("SIZE", "64"))
    return tmp_path / "prog.p4"


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """A file of P4 with an error in line 16."""
    (tmp_path / "wrong.p4").write_text(PROGRAM.replace("hdr.ethernet.dst: exact", "hdr.ethernet.dest: exact"))
    return tmp_path / "wrong.p4"


def forwards(switch: Switch) -> bool:
    """Whether the switch drops a frame without an entry, and forwards it with one."""
    before = switch.run(1, FRAME)
    action = finsy.P4TableAction("forward", port=2)
    entry = finsy.P4TableEntry("hosts", match=finsy.P4TableMatch({"dst": 0x020000000001}), action=action)
    switch.write(+entry)
    return before == [] and [(one.port, one.frame) for one in switch.run(1, FRAME)] == [(2, FRAME)]


def test_a_switch_is_made_of_a_file_or_of_text(program: Path) -> None:
    assert forwards(Switch.compile(program))
    assert forwards(Switch.compile(str(program), ports=[1, 2]))
    assert forwards(Switch.compile(PROGRAM, defines={"SIZE": "8"}))
    with pytest.raises(CompileError, match=r"program\.p4"):
        Switch.compile(PROGRAM)


def test_an_error_names_its_place(wrong: Path) -> None:
    with pytest.raises(CompileError, match=r"wrong\.p4:16") as refused:
        compile_p4(wrong, defines={"SIZE": "8"})
    (message,) = refused.value.messages
    assert (message["severity"], message["line"], message["file"]) == ("error", 16, str(wrong))
    assert "dest" in message["message"] and message["text"] in str(refused.value)
    with pytest.raises(InvalidError, match=r"none\.p4: no such file"):
        compile_p4(wrong.with_name("none.p4"))


def test_ids_and_aliases_are_as_p4runtime_says() -> None:
    info = text_format.Parse(compile_p4(PROGRAM, defines={"SIZE": "64"}).p4info, p4i.P4Info())
    (table,) = info.tables
    assert (table.preamble.name, table.preamble.alias, table.size) == ("I.hosts", "hosts", 64)
    assert table.preamble.id >> 24 == 2 and info.actions[0].preamble.id == 0x01000007
    assert [action.preamble.name for action in info.actions] == ["I.forward", "I.drop"]


def test_an_element_is_read_and_written_by_an_index_of_the_packet() -> None:
    switch = Switch.compile(STACK)
    assert [one.frame for one in switch.run(2, b"\x01\x05rest")] == [b"\x01\x07rest"]
    assert [one.frame for one in switch.run(2, b"\x02\x05rest")] == [b"\x07\x07\x02\x07rest"]


def test_bmv2_gets_an_expression_in_an_expression() -> None:
    made = json.loads(compile_p4(STACK).json)
    (state,) = made["parsers"][0]["parse_states"]
    inner = [one["parameters"][0] for one in state["parser_ops"] if one["op"] == "primitive"]
    primitives = inner + [one for action in made["actions"] for one in action["primitives"]]
    expressions = [
        one["value"] for each in primitives for one in each["parameters"] if one["type"] == "expression"
    ]
    assert len(expressions) > 4
    assert all(value["type"] == "expression" for value in expressions)


def test_the_command_checks_and_compiles(
    program: Path, wrong: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["p4", "check", str(program)]) == 0
    assert main(["p4", "compile", str(program), "--out", str(tmp_path / "made")]) == 0
    assert forwards(Switch.load(tmp_path / "made/prog.json", tmp_path / "made/prog.p4info.txtpb"))
    capsys.readouterr()
    assert main(["p4", "compile", str(wrong), "-DSIZE=8"]) == 1
    assert "wrong.p4:16" in capsys.readouterr().err and not wrong.with_suffix(".json").exists()
    assert main(["p4", "check", str(wrong), "-D", "SIZE=8", "--json"]) == 1
    (message,) = json.loads(capsys.readouterr().out)
    assert message["line"] == 16 and message["severity"] == "error"
    note, *_ = message["notes"]
    assert (note["line"], note["column"], note["end_column"]) == (4, 8, 18) and note["message"] == "the type"


def test_included_files_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/size.p4").write_text("const bit<32> SIZE = 16;\n")
    (tmp_path / "main.p4").write_text(PROGRAM.replace("header", '#include "size.p4"\nheader', 1))
    assert main(["p4", "check", str(tmp_path / "main.p4"), "-I", str(tmp_path / "lib")]) == 0
    assert main(["p4", "check", str(tmp_path / "main.p4")]) == 1
    assert "size.p4" in capsys.readouterr().err


def test_p4c_is_used_where_it_is(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    assert main(["p4", "compile", str(program), "--p4c"]) == 1
    assert "p4c-bm2-ss is not on PATH" in capsys.readouterr().err
    compiler = tmp_path / "bin/p4c-bm2-ss"
    compiler.write_text('#!/bin/sh\necho info >"$2"; echo "{}" >"$4"; echo "$@" >&2\n')
    compiler.chmod(0o755)
    assert main(["p4", "compile", str(program), "--p4c", "-I", str(tmp_path)]) == 0
    assert program.with_suffix(".p4info.txtpb").read_text() == "info\n"
    compiler.write_text('#!/bin/sh\necho "prog.p4(3): [--Werror=x] error: broken\n  here" >&2; exit 1\n')
    assert main(["p4", "compile", str(program), "--p4c"]) == 1
    assert "error: broken\n  here" in capsys.readouterr().err


def test_a_scenario_names_its_p4(program: Path, wrong: Path) -> None:
    text = "duration: 1s\nswitches: {s1: {}}\nhosts: {a: , b: }\nlinks: [[a, s1], [s1, b]]\nprogram: %s\n"
    text += "traffic: {f: {kind: udp, from: a, to: b, rate: 1mbit}}\n"
    scenario = sim.parse(text % program.name, folder=program.parent)
    assert scenario.program.suffix == ".json" and "I.hosts" in scenario.p4info.read_text()
    with pytest.raises(ScenarioError, match=r"program: wrong\.p4 has errors\n(.|\n)*wrong\.p4:16"):
        sim.parse(text % wrong.name, folder=wrong.parent)


def test_a_program_is_always_compiled_alike() -> None:
    """States that subparsers lead back to were in an order of chance."""
    inner = "parser Inner(packet_in packet, out ethernet_t to) {"
    inner += " state start { packet.extract(to); transition accept; } }\n"
    states = "".join(
        f"state {name} {{ inner.apply(packet, hdr.ethernet); transition {after}; }}\n"
        for name, after in (("start", "a"), ("a", "b"), ("b", "c"), ("c", "accept"))
    )
    program = PROGRAM.replace("SIZE", "64").replace("parser P(", f"{inner}parser P(")
    program = program.replace(
        "    state start { packet.extract(hdr.ethernet); transition accept; }",
        f"    Inner() inner;\n{states}",
    )
    assert "Inner() inner" in program
    assert len({compile_p4(program).json for _ in range(8)}) == 1
