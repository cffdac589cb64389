"""The same P4, controller and agents on BMv2's simple_switch_grpc, where it is installed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from topologies.bmv2 import PROGRAM

pytestmark = pytest.mark.skipif(shutil.which(PROGRAM) is None, reason=f"{PROGRAM} (BMv2) is not installed")
ROOT = Path(__file__).parents[2]


def test_the_demo_on_bmv2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "experiments.demo", "--switch", "bmv2", "--rate", "4", "--size", "1MiB"]
    command += ["--members", "1", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)
    report = json.loads((tmp_path / "report.json").read_text())
    assert all(receiver["ok"] for receiver in report["receivers"]), done.stderr
    copies = {(link["from"], link["to"]): link["copies"] for link in report["links"]}
    assert copies["ma1", "s1"] <= 1.1
    assert copies["s1", "s2"] <= 1.1
