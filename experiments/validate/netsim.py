"""Runs groupflow's TCP: the endpoints of `dataplane/netsim` on a line that keeps time as exactly as ns-2 means to."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from experiments.validate.scenarios import Scenario

_WORKSPACE = Path(__file__).parents[2] / "dataplane"


def build() -> None:
    """Compiles, so that the runs' times do not contain it."""
    subprocess.run([*_cargo("tcp_line"), "--no-run"], cwd=_WORKSPACE, check=True)


def run(scenario: Scenario, out: Path, runner: str = "tcp_line") -> tuple[Path, float]:
    """Samples of a run, and its CPU time."""
    path = (out / f"{scenario.name}.{runner}").resolve()
    environment = os.environ | {
        "LINKS": ";".join(link.words() for link in scenario.links),
        "FLOWS": ";".join(
            f"{flow.variant} {flow.source} {flow.target} {flow.start:g} {flow.window} {flow.sink}"
            for flow in scenario.flows
        ),
        "UNTIL": f"{scenario.until:g}",
        "SAMPLE": f"{scenario.sample:g}",
        "OUT": str(path),
    }
    before = os.times()
    command = [*_cargo(runner), "--", "--ignored", "scenario"]
    subprocess.run(command, cwd=_WORKSPACE, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return path, after.children_user + after.children_system - before.children_user - before.children_system


def _cargo(runner: str) -> list[str]:
    return ["cargo", "test", "--quiet", "--release", "--locked", "-p", "groupflow-netsim", "--test", runner]
