"""Runs ns-2 (Debian package ns2), and groupflow's TCP: on netsim, and on a line with exact time, as ns-2
intends."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from experiments.bench.tools import ended_s
from groupflow.study import StudyError
from tests.validation.scenarios import Scenario

_SCRIPT = Path(__file__).parent / "line.tcl"
_WORKSPACE = Path(__file__).parents[2] / "dataplane"


def prepare() -> None:
    """Installs ns-2 where `ns` is missing, which needs root; compiles the programs, so that the times of runs
    do not include it."""
    if not shutil.which("ns"):
        apt = shutil.which("apt-get")
        if apt is None:
            raise StudyError("ns-2 is missing and there is no apt-get: install ns-2 2.35 as `ns`")
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        command = [apt, "install", "-y", "ns2"]  # stdout is for the results
        if subprocess.run(command, env=environment, check=False, stdout=sys.stderr).returncode:
            raise StudyError("ns-2 is missing: `apt-get install ns2` failed (it needs root)")
    for runner in ("tcp_line", "tcp_netsim"):
        subprocess.run([*_cargo(runner), "--no-run"], cwd=_WORKSPACE, check=True)


def ns2(scenario: Scenario, out: Path) -> Path:
    """Samples of a run in ns-2."""
    path = out / f"{scenario.name}.ns2"
    _ns(scenario, path)
    return path


def exact(scenario: Scenario, out: Path, first: str) -> Path:
    """Samples on the exact line; of an arrival and a departure at the same instant, `first` goes first."""
    path = out / f"{scenario.name}.{first}"
    _ours("tcp_line", scenario, path, first)
    return path


def netsim(scenario: Scenario, out: Path) -> Path:
    """Samples on netsim."""
    path = out / f"{scenario.name}.netsim"
    _ours("tcp_netsim", scenario, path)
    return path


def seconds(scenario: Scenario, out: Path) -> tuple[float, float]:
    """CPU time in s: of ns-2 without samples and monitors, for the packets alone; of netsim with samples."""
    return (
        _took(lambda: _ns(replace(scenario, sample=0), out / "none")),
        _took(lambda: _ours("tcp_netsim", scenario, out / "none")),
    )


def _took(run: Callable[[], None]) -> float:
    before = ended_s()
    run()
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


def _ours(runner: str, scenario: Scenario, path: Path, first: str = "departures") -> None:
    environment = os.environ | {
        "LINKS": ";".join(link.words() for link in scenario.links),
        "FLOWS": ";".join(
            f"{flow.variant} {flow.source} {flow.target} {flow.start:g} {flow.window} {flow.sink}"
            for flow in scenario.flows
        ),
        "FIRST": first,
        "UNTIL": f"{scenario.until:g}",
        "SAMPLE": f"{scenario.sample:g}",
        "OUT": str(path.resolve()),
    }
    command = [*_cargo(runner), "--", "--ignored", "scenario"]
    subprocess.run(command, cwd=_WORKSPACE, env=environment, check=True, stdout=subprocess.DEVNULL)


def _cargo(runner: str) -> list[str]:
    return ["cargo", "test", "--quiet", "--release", "--locked", "-p", "groupflow-netsim", "--test", runner]
