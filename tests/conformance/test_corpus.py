"""Programs from outside on gfswitch and BMv2: `GROUPFLOW_P4_SAMPLES` names folders, with `:` between."""

import os
import shutil
from pathlib import Path

import pytest
from finsy.proto import p4i
from google.protobuf import text_format

from groupflow.compiler import compile_p4
from tests.conformance import corpus, findings
from tests.support.wires import wires

PROGRAMS = Path(__file__).parent / "programs"
FOLDERS = [Path(folder) for folder in os.environ.get("GROUPFLOW_P4_SAMPLES", "").split(":") if folder]


@pytest.mark.rare
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not FOLDERS, reason="GROUPFLOW_P4_SAMPLES names no folder with P4 programs")
@pytest.mark.skipif(not shutil.which("simple_switch_grpc"), reason="simple_switch_grpc is not on PATH")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: virtual interfaces")
def test_the_same_packets_leave_both_switches(tmp_path: Path) -> None:
    found = corpus.run(FOLDERS, tmp_path, seed=1)
    print(found)
    ours, theirs = found.loaded()
    assert ours >= theirs > 0, str(found)
    assert not found.of(findings.DIFFER, findings.COUNTERS, findings.ENTRIES, findings.ENDED), str(found)


@pytest.mark.skipif(not shutil.which("simple_switch_grpc"), reason="simple_switch_grpc is not on PATH")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: virtual interfaces")
@pytest.mark.parametrize("name", ["gfswitch", "bmv2"])
def test_a_program_that_a_switch_cannot_read_is_refused(name: str) -> None:
    made = compile_p4(PROGRAMS / "copies.p4")
    info = text_format.Parse(made.p4info, p4i.P4Info())
    unknown = made.json.replace('"assign"', '"no_such_primitive"')
    with wires(corpus.PORTS) as interfaces:
        target = corpus.Target(name, interfaces)
        try:
            assert target.load(corpus.Program("right", made.json.encode(), info)) == ""
            assert "no_such_primitive" in target.load(corpus.Program("wrong", unknown.encode(), info))
        finally:
            target.stop()
