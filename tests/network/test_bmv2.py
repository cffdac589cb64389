"""The same P4, controller and agents on BMv2's simple_switch_grpc, where it is installed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from groupflow.lab import split
from groupflow.lab.bmv2 import PROGRAM
from tests.network.harness import MIB, laboratory
from tests.network.tcp_group import FIG5, agents_up, group

pytestmark = pytest.mark.skipif(shutil.which(PROGRAM) is None, reason=f"{PROGRAM} (BMv2) is not installed")
ROOT = Path(__file__).parents[2]


def test_the_demo_on_bmv2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "groupflow.cli.main", "demo", "--switch", "bmv2"]
    command += ["--rate", "4", "--size", "1MiB"]
    command += ["--members", "1", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)
    report = json.loads((tmp_path / "report.json").read_text())
    (run,) = report["runs"]  # BMv2 does not emulate losses
    assert not any(receiver["error"] for receiver in run["receivers"]), done.stderr
    copies = {(link["source"], link["target"]): link["copies"] for link in run["group"]["links"]}
    assert copies["ma1", "s1"] <= 1.1
    assert copies["s1", "s2"] <= 1.1


async def test_a_tcp_session_on_bmv2(tmp_path: Path) -> None:
    """Refused while no agent serves it, then split at agents; an address without a session stays refused."""
    size = MIB + 17
    with laboratory(FIG5, tmp_path, "bmv2") as lab:
        async with group(lab) as subject:
            await subject.assert_refused("ma1")
            split.start(lab.network, lab.folder / "logs")
            await agents_up(lab, 2)
            await subject.assert_refused("mc1", address="10.200.77.77")
            for host in ("mb1", "md1"):
                await subject.join(host)
            await subject.send("ma1", size)
            await subject.assert_all_have(size, ("mb1", "md1"))
            assert await subject.receipts(2) == {"mb1": size, "md1": size}
            for switch in ("s1", "s2"):
                counters = cast(dict[str, Any], lab.controller.get(f"/switches/{switch}/counters"))
                assert [count["packets"] for count in counters["refusals"]] == [1], switch
