"""Runs groupflow's TCP: on netsim, and on a line with exact time, as ns-2 intends."""

import os
import subprocess
from pathlib import Path

from experiments.bench.tools import ended_s
from experiments.validate.scenarios import Scenario

_WORKSPACE = Path(__file__).parents[2] / "dataplane"


def build() -> None:
    """Compiles the programs, so that the times of runs do not include it."""
    for runner in ("tcp_line", "tcp_netsim"):
        subprocess.run([*_cargo(runner), "--no-run"], cwd=_WORKSPACE, check=True)


def exact(scenario: Scenario, out: Path, first: str) -> Path:
    """Samples on the exact line; of an arrival and a departure at the same instant, `first` goes first."""
    path = out / f"{scenario.name}.{first}"
    _cargo_run("tcp_line", scenario, path, first)
    return path


def run(scenario: Scenario, out: Path) -> Path:
    """Samples on netsim."""
    path = out / f"{scenario.name}.netsim"
    _cargo_run("tcp_netsim", scenario, path)
    return path


def seconds(scenario: Scenario, out: Path) -> float:
    """CPU time in s on netsim, with the scenario's samples."""
    before = ended_s()
    _cargo_run("tcp_netsim", scenario, out / "none")
    return ended_s() - before


def _cargo_run(runner: str, scenario: Scenario, path: Path, first: str = "departures") -> None:
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
