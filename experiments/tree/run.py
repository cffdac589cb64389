"""`groupflow experiment tree`: what a host that dies costs those below it, with and without encryption, when
it is only silent, and when the process that runs its dispatcher dies with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from statistics import median

from rich.console import Console
from rich.table import Table

from experiments.demo.measure import HealthCheck
from experiments.tree import repair
from experiments.tree.repair import LIMIT_S, Death, Repair
from experiments.tree.service import RunError
from experiments.tree.stream import StreamError
from groupflow.cli.command import FAILURE, OK, failing_with
from groupflow.client.errors import ClientError
from groupflow.study.files import write_json
from groupflow.study.options import ExperimentOptions
from topologies import variants
from topologies.controller import Controller, ControllerError
from topologies.daemon import DaemonError
from topologies.gfswitch import ControlError
from topologies.leftovers import InUseError
from topologies.network import NetworkError, running

ERRORS = (
    RunError,
    StreamError,
    ClientError,
    NetworkError,
    DaemonError,
    ControllerError,
    ControlError,
    InUseError,
)
KILLS = 3
"""in one run; then too few are left that serve others"""
HEADS = 2
"""that die in one run: there are two clusters besides the source's"""
KINDS: Mapping[str, tuple[bool, Death]] = {
    "killed": (False, "killed"),
    "killed, not encrypted": (True, "killed"),
    "silent": (False, "silent"),
    "killed, the head of a cluster": (False, "head"),
    "killed, with its dispatcher": (False, "with_dispatcher"),
}
"""whether edges are plain, and how hosts die"""
RUNS = {True: 1, False: 5}
"""quick, or not; of each kind"""


def run(options: ExperimentOptions) -> int:
    """Exit code 1 where a repair took too long, and where a switch lagged behind: the figures would be about
    the machine."""
    console = Console(stderr=options.json)
    repairs: list[Repair] = []
    lagging: list[str] = []
    options.out.mkdir(parents=True, exist_ok=True)
    with failing_with(*ERRORS), running(variants.named("star"), options.out / "logs") as network:
        Controller(network, options.out / "logs").start()
        for number in range(RUNS[options.quick]):
            for name, (plain, death) in KINDS.items():
                health = HealthCheck(network)
                kills = HEADS if death == "head" else KILLS
                found = asyncio.run(repair.measure(network, kills, plain=plain, death=death))
                repairs += found
                shown = ", ".join(f"{each.seconds * 1000:.0f} ms" for each in found)
                console.print(f"run {number + 1}, {name}: {shown}")
                lagging += [f"{v.name}: {v.detail}" for v in health.result() if v.cpu_bound]
    write_json(options.out / "repairs.json", [asdict(each) for each in repairs])
    report(repairs, console, as_json=options.json)
    for line in lagging:
        console.print(f"CPU-bound, do not trust the figures: {line}")
    return OK if not lagging and all(each.seconds < LIMIT_S for each in repairs) else FAILURE


def report(repairs: list[Repair], console: Console, *, as_json: bool) -> None:
    """The longest silence of those below one that died."""
    table = Table("", "deaths", "median", "longest")
    for name, (plain, death) in KINDS.items():
        seconds = [each.seconds for each in repairs if (each.encrypted, each.death) == (not plain, death)]
        if seconds:
            shown = [f"{value * 1000:.0f} ms" for value in (median(seconds), max(seconds))]
            table.add_row(name, str(len(seconds)), *shown)
    console.print(table)
    late = sum(each.seconds >= LIMIT_S for each in repairs)
    verdict = (
        f"{late} of {len(repairs)} took {LIMIT_S:g} s or more" if late else f"all in less than {LIMIT_S:g} s"
    )
    console.print(f"no byte was lost or doubled; {verdict}")
    if as_json:
        print(json.dumps([asdict(each) for each in repairs]))
