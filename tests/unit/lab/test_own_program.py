"""Programs of one's own: found with their P4Info, compiled, refused in one line."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from groupflow.data import P4_JSON, P4INFO
from groupflow.errors import InvalidError
from groupflow.files.topology import load
from groupflow.lab import own_program
from groupflow.model.topology import Topology, TopologyError
from tests.support import exercise


@pytest.fixture
def topology(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Topology:
    """Of an exercise, which is in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    (tmp_path / "bin").mkdir()
    return load(exercise.write(tmp_path))


def running(topology: Topology, program: str) -> Topology:
    switches = {name: replace(each, program=Path(program)) for name, each in topology.switches.items()}
    return replace(topology, switches=switches)


def test_p4info_beside_the_program_is_found(topology: Topology, tmp_path: Path) -> None:
    ready, work = own_program.prepare(running(topology, "build/basic.json"), tmp_path)
    assert ready.switches["s1"].p4info == Path("build/basic.p4.p4info.txtpb")
    assert [(each.switch.name, len(each.updates)) for each in work] == [("s1", 4), ("s2", 4)]
    assert not own_program.is_groupflows(ready.switches)


def test_p4info_that_the_entries_name_is_found(topology: Topology, tmp_path: Path) -> None:
    (tmp_path / "basic.json").write_text(json.dumps(exercise.program()))
    ready, _ = own_program.prepare(running(topology, "basic.json"), tmp_path)
    found = ready.switches["s1"].p4info
    assert found and found.resolve() == tmp_path / "build/basic.p4.p4info.txtpb"


def test_p4_is_compiled_once_for_all_switches(topology: Topology, tmp_path: Path) -> None:
    (tmp_path / "mine.p4").write_text(exercise.P4)
    ready, _ = own_program.prepare(running(topology, "mine.p4"), tmp_path / "made")
    (made,) = {switch.program for switch in ready.switches.values()}
    assert made and made.name == "mine.json" and made.is_relative_to(tmp_path / "made")
    assert ready.switches["s1"].p4info == made.with_name("mine.p4info.txtpb")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/mine.p4").write_text(exercise.P4)
    other, _ = own_program.prepare(running(topology, "other/mine.p4"), tmp_path / "made")
    assert made not in {switch.program for switch in other.switches.values()}
    (tmp_path / "bad.p4").write_text("broken")
    with pytest.raises(TopologyError, match=r"^bad\.p4 has errors\n(.|\n)*bad\.p4:1"):
        own_program.prepare(running(topology, "bad.p4"), tmp_path / "made")


def test_the_compilers_warnings_are_told_once(topology: Topology, tmp_path: Path) -> None:
    (tmp_path / "mine.p4").write_text(
        exercise.P4.replace("    action drop", "    action unused() {}\n    action drop")
    )
    with pytest.warns(UserWarning, match=r"^no table .* `unused`, (.|\n)*--> mine\.p4:17") as told:
        own_program.prepare(running(topology, "mine.p4"), tmp_path / "made")
    assert len(told) == 1


def test_groupflows_own_program_is_known(topology: Topology) -> None:
    switch = replace(topology.switches["s1"], program=P4_JSON, p4info=P4INFO)
    assert own_program.is_groupflows({"s1": switch})
    assert own_program.is_groupflows(load("fig5").switches)
    assert not own_program.is_groupflows({"s1": switch, "s2": topology.switches["s2"]})


def test_entries_that_cannot_be_read_are_one_line(topology: Topology, tmp_path: Path) -> None:
    (tmp_path / "basic.json").write_text(json.dumps(exercise.program()))
    (tmp_path / "topo/s1-runtime.json").write_text("{")
    with pytest.raises(InvalidError, match=r"s1-runtime\.json: not JSON"):
        own_program.prepare(running(topology, "basic.json"), tmp_path)


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("", "switches.s1.entries: of no program; name one: --p4 FILE"),
        ("no.json", "no.json: no such file; name a P4 program"),
        ("topo/topology.json", "topo/topology.json: no 'pipelines', so"),
        ("bin", "bin: no such file"),
        ("mine.p4", "mine.p4 has errors"),
    ],
)
def test_a_bad_program_is_one_line(topology: Topology, tmp_path: Path, program: str, error: str) -> None:
    (tmp_path / "mine.p4").touch()
    asked = running(topology, program) if program else topology
    with pytest.raises(InvalidError) as refused:
        own_program.prepare(asked, tmp_path)
    assert str(refused.value).startswith(error)


def test_commands_of_bmv2_are_no_p4runtime_entries(topology: Topology, tmp_path: Path) -> None:
    commands = tmp_path / "s1-commands.txt"
    commands.write_text("\n// of an exercise\ntable_add ipv4_lpm drop 10.0.1.1/32 =>\n")
    asked = running(topology, "build/basic.json")
    asked = replace(asked, switches={"s1": replace(asked.switches["s1"], entries=commands)})
    _, work = own_program.prepare(asked, tmp_path)
    assert work == [], "gfswitch-cli writes them"
    commands.write_text("# TODO: fill the table")
    assert own_program.prepare(asked, tmp_path)[1] == []
