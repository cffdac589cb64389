"""The compiled program: up to date with the sources, and fit for a hardware target."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from finsy.proto import p4i
from google.protobuf import text_format

from groupflow.compiler import compile_p4
from groupflow.control.diffusion.bmv2_agent import LEFT_BEHIND, QUEUE_DEPTH, QUEUE_RATE, QUEUE_SHARE
from tests.support.p4.network import JSON, P4INFO

P4SRC = Path(__file__).parents[3] / "p4src"
STAGES = sorted((P4SRC / "stages").glob("*.p4"))
TOP = P4SRC / "groupflow_v1model.p4"
TARGETS = re.compile(
    r"v1model|bmv2|gfswitch|simple_switch|tofino|\btna\b|standard_metadata|mark_to_drop"
    r"|\bregister<|\b(direct_)?counter\(|\bmeter\(|(verify|update)_checksum",
    re.IGNORECASE,
)
"""Names of targets, and uses of their externs and metadata."""


def test_artefacts_are_of_these_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(P4SRC.parent)
    made = compile_p4("p4src/groupflow_v1model.p4")
    assert f"{made.json}\n" == JSON.read_text(), "run `make p4`"
    assert made.p4info == P4INFO.read_text(), "run `make p4`"


def primitives() -> list[dict[str, Any]]:
    program = json.loads(JSON.read_text())
    return [p for action in program["actions"] for p in action["primitives"]]


def test_a_register_is_read_once_and_written_once() -> None:
    """Tofino's rule: one access a packet. A read and the write after it are one stateful operation."""
    reads, writes = Counter[str](), Counter[str]()
    for primitive in primitives():
        if primitive["op"] == "register_read":
            reads[primitive["parameters"][1]["value"]] += 1
        elif primitive["op"] == "register_write":
            writes[primitive["parameters"][0]["value"]] += 1
    assert len(reads | writes) == 27
    assert set(reads.values()) == set(writes.values()) == {1}
    managers = {name.rpartition(".")[2]: (name in reads, name in writes) for name in set(reads) ^ set(writes)}
    assert managers == {  # the traffic manager does the other half
        "queue_depth": (True, False),
        "queue_share": (True, False),
        "queue_rate": (False, True),
        "left_behind": (False, True),  # for the rate agent beside BMv2
    }


def test_there_is_no_division() -> None:
    text = JSON.read_text()
    assert not any(f'"op" : "{op}"' in text for op in ("/", "%", "*"))


@pytest.mark.parametrize("stage", STAGES, ids=lambda path: path.stem)
def test_a_stage_names_no_target(stage: Path) -> None:
    assert [line for line in stage.read_text().splitlines() if TARGETS.search(line)] == []


def p4info() -> p4i.P4Info:
    return text_format.Parse(P4INFO.read_text(), p4i.P4Info())


def test_ids_are_pinned() -> None:
    """p4c makes other ids from names: a pinned one has 0 in its third byte. NoAction is p4c's own."""
    info = p4info()
    kinds = (info.tables, info.actions, info.counters, info.direct_counters, info.meters, info.registers)
    preambles = [item.preamble for items in (*kinds, info.controller_packet_metadata) for item in items]
    assert [p.name for p in preambles if p.id & 0xFF0000] == ["NoAction"]
    assert len({p.id for p in preambles}) == len(preambles)


def test_the_control_plane_sees_no_path_of_the_program() -> None:
    """Keys have names and ids of their own, so that fields and stages may move."""
    info = p4info()
    for table in info.tables:
        assert [field.id for field in table.match_fields] == list(range(1, len(table.match_fields) + 1))
        assert not [field.name for field in table.match_fields if "." in field.name]
    registers = {register.preamble.name for register in info.registers}
    assert {QUEUE_DEPTH, QUEUE_RATE, QUEUE_SHARE, LEFT_BEHIND} <= registers  # by name, over Thrift


@pytest.mark.parametrize("source", [*STAGES, TOP], ids=lambda path: path.stem)
def test_targets_compare_fields_and_port_0_is_a_port(source: Path) -> None:
    """Stages compare with constants only, whose names are in capitals."""
    text = re.sub(r"//.*", "", source.read_text())
    assert re.findall(r"[\w.)\]]+ [<>]=? \(?[a-z]\w*", text) == []
    assert re.findall(r"\w*port [=!]= 0\b", text) == []


def test_tables_and_actions_say_what_is_legal() -> None:
    """Of their own keys and parameters, compared with numbers: p4-constraints knows no other names."""
    info = p4info()
    fields = {table.preamble.alias: {field.name for field in table.match_fields} for table in info.tables}
    fields |= {action.preamble.alias: {param.name for param in action.params} for action in info.actions}
    legal = {
        item.preamble.alias: text
        for item in (*info.tables, *info.actions)
        for annotation in item.preamble.annotations
        for text in re.findall(r'^@(?:entry|action)_restriction\("(.*)"\)$', annotation)
    }
    assert legal["from_branch"] == "branch <= 15"  # sizes are filled in
    operators = r"::prefix_length|&&|\|\||->|[!=<>]=|[<>]|[()]|\b\d+\b"
    for name, text in legal.items():
        assert set(re.sub(operators, " ", text).split()) <= fields[name], text
    tables = {table.preamble.alias for table in info.tables}
    assert tables - legal.keys() == {"arp_responder", "ipv4_route", "controlled_flows"}
    assert legal.keys() - tables == {
        *("host", "agent", "stream", "from_branch", "route", "to_queue", "report")
    }


@pytest.mark.slow  # some 10 s with p4c
@pytest.mark.skipif(not shutil.which("p4c-bm2-ss"), reason="p4c-bm2-ss is not on PATH")
@pytest.mark.parametrize("options", [[], ["-DMAX_STREAMS=64", "-DMAX_FLOWS=64"], ["-DBRANCHES=8"]], ids=str)
def test_it_compiles_without_a_warning(options: list[str], tmp_path: Path) -> None:
    command = ["p4c-bm2-ss", "--std", "p4-16", "--Werror", *options, "-o", tmp_path / "out.json", TOP]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
