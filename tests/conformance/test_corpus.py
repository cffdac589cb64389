"""Programs from outside on gfswitch and BMv2: `GROUPFLOW_P4_SAMPLES` names folders, with `:` between."""

import os
import shutil
from pathlib import Path

import pytest

from tests.conformance import corpus, findings

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
