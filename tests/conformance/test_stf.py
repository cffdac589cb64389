"""Files of steps beside small programs: they pass, and what others lack for it is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conformance import stf
from tests.conformance.test_corpus import FOLDERS

PROGRAMS = Path(__file__).parent / "programs"
OURS = ("groupflow", "gfswitch")


def test_the_programs_pass_on_gfswitch(tmp_path: Path) -> None:
    found = stf.run([PROGRAMS], tmp_path, ways=[OURS])
    assert sorted(found.outcomes) == ["programs/copies", "programs/entries"]
    assert str(found) == "| 2 tests | gfswitch |\n|---|---|\n| groupflow | 2 |"


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("simple_switch"), reason="simple_switch is not on PATH")
def test_the_programs_pass_on_bmv2(tmp_path: Path) -> None:
    found = stf.run([PROGRAMS], tmp_path)
    assert found.outcomes["programs/copies"]["groupflow on BMv2"] == ""
    assert not found.failed(), str(found)


@pytest.mark.rare
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not FOLDERS, reason="GROUPFLOW_P4_SAMPLES names no folder with P4 programs")
@pytest.mark.skipif(not shutil.which("p4c-bm2-ss"), reason="p4c-bm2-ss is not on PATH")
def test_tests_pass_that_pass_with_p4c(tmp_path: Path) -> None:
    found = stf.run(FOLDERS, tmp_path)
    print(found)
    for name, outcomes in found.outcomes.items():
        for switch in ("gfswitch", "BMv2"):
            ours, theirs = (outcomes.get(f"{one} on {switch}") for one in ("groupflow", "p4c"))
            assert not ours or theirs, f"{name} on {switch}: {ours}"


def test_a_folder_may_have_no_test(tmp_path: Path) -> None:
    assert str(stf.run([tmp_path], tmp_path, ways=[OURS])) == "no program has a test"


def test_a_run_goes_on_where_one_before_it_ended(tmp_path: Path) -> None:
    before = {"programs/copies": {"groupflow on gfswitch": "a reason"}}
    (tmp_path / "outcomes.json").write_text(json.dumps(before))
    found = stf.run([PROGRAMS], tmp_path, ways=[OURS])
    assert found.failed() == before
    assert found.passed("groupflow on gfswitch") == 1
    assert not stf.run([PROGRAMS], tmp_path, only="copies", ways=[OURS]).failed()


@pytest.mark.parametrize(
    ("line", "replaced", "reason"),
    [
        ("expect 2 01 10$", "expect 2 01 1*$", ""),
        ("expect 2 01 10$", "expect 2 01$", "frame 1 of port 2 is 0110, not 01$"),
        ("expect 2 01 10$", "expect 2 01 12", "frame 1 of port 2 is 0110, not 0112"),
        ("packet 0 01 00", "packet 0 01 00\npacket 0 01 00", "frames of port 2: 2, not 1"),
        ("mirroring_add 7 4", "", "frames of port 4: 0, not 1"),
        ("mirroring_add 7 4", "mirror 7 4", "line 6 is no step: mirror 7 4"),
        ("reset last", "reset first", "register_reset first: Error: Invalid register name (first)"),
    ],
)
def test_a_step_that_fails_is_told(tmp_path: Path, line: str, replaced: str, reason: str) -> None:
    (tmp_path / "copies.p4").write_text((PROGRAMS / "copies.p4").read_text())
    text = (PROGRAMS / "copies.stf").read_text()
    assert text.count(line) == 1
    (tmp_path / "copies.stf").write_text(text.replace(line, replaced))
    [source] = stf.tested([tmp_path])
    assert stf.outcome("gfswitch", stf.compiled(source, "groupflow"), tmp_path / "copies.stf") == reason


def test_a_program_with_an_error_does_not_pass(tmp_path: Path) -> None:
    text = (PROGRAMS / "copies.p4").read_text().replace("bit<8> kind", "bit<8> sort")
    (tmp_path / "copies.p4").write_text(text)
    (tmp_path / "copies.stf").touch()
    found = stf.run([tmp_path], tmp_path / "out", ways=[OURS])
    [outcomes] = found.failed().values()
    assert outcomes["groupflow on gfswitch"].startswith("does not compile: ")
    assert "| groupflow | 0 |\n\n- `" in str(found)
