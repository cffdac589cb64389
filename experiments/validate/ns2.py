"""Runs ns-2 (Debian package ns2)."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from experiments.bench.tools import ended_s
from experiments.validate.scenarios import Scenario
from groupflow.study import StudyError

_SCRIPT = Path(__file__).parent / "line.tcl"


def install() -> None:
    """Installs the package where `ns` is missing, which needs root."""
    if shutil.which("ns"):
        return
    apt = shutil.which("apt-get")
    if apt is None:
        raise StudyError("ns-2 is missing and there is no apt-get: install ns-2 2.35 as `ns`")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    command = [apt, "install", "-y", "ns2"]  # stdout is for the results
    if subprocess.run(command, env=environment, check=False, stdout=sys.stderr).returncode:
        raise StudyError("ns-2 is missing: `apt-get install ns2` failed (it needs root)")


def run(scenario: Scenario, out: Path) -> Path:
    """Samples of a run."""
    path = out / f"{scenario.name}.ns2"
    _ns(scenario, path)
    return path


def seconds(scenario: Scenario, out: Path) -> float:
    """CPU time in s without samples and monitors: ns-2's time for the packets alone."""
    before = ended_s()
    _ns(replace(scenario, sample=0), out / "none")
    return ended_s() - before


def _ns(scenario: Scenario, path: Path) -> None:
    links = " ".join(f"{{{link.words()}}}" for link in scenario.links)
    flows = " ".join(
        f"{{{flow.variant} {flow.source} {flow.target} {flow.start:g} {flow.window} {{{flow.sink}}}}}"
        for flow in scenario.flows
    )
    arguments = ["links", links, "flows", flows, "monitor", " ".join(map(str, scenario.full))]
    arguments += ["until", f"{scenario.until:g}", "sample", f"{scenario.sample:g}", "out", str(path)]
    subprocess.run(["ns", str(_SCRIPT), *arguments], check=True, stdout=sys.stderr)
