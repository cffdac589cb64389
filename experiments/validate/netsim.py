"""Runs groupflow's TCP: on netsim, and on a line that keeps time exactly, as ns-2 means to."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from experiments.validate.scenarios import Scenario

_WORKSPACE = Path(__file__).parents[2] / "dataplane"


def build() -> None:
    """Compiles, so that the runs' times do not contain it."""
    for runner in ("tcp_line", "tcp_netsim"):
        subprocess.run([*_cargo(runner), "--no-run"], cwd=_WORKSPACE, check=True)


def exact(scenario: Scenario, out: Path, first: str) -> Path:
    """Samples on the exact line; of an arrival and a departure at the same instant, `first` goes first."""
    return _run(scenario, out, "tcp_line", first)[0]


def run(scenario: Scenario, out: Path) -> tuple[Path, float]:
    """Samples on netsim, and the CPU time."""
    return _run(scenario, out, "tcp_netsim", "departures")


def _run(scenario: Scenario, out: Path, runner: str, first: str) -> tuple[Path, float]:
    path = (out / f"{scenario.name}.{runner}.{first}").resolve()
    environment = os.environ | {
        "LINKS": ";".join(link.words() for link in scenario.links),
        "FLOWS": ";".join(
            f"{flow.variant} {flow.source} {flow.target} {flow.start:g} {flow.window} {flow.sink}"
            for flow in scenario.flows
        ),
        "FIRST": first,
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
