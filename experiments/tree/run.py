"""`groupflow experiment tree`: the cost of a host's death for those below it, also when it is only silent."""

import asyncio
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict
from statistics import median

from rich.table import Table

from experiments.tree import repair
from experiments.tree.repair import LIMIT_S, Death, Repair
from groupflow.files import variants
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.measure import HealthCheck
from groupflow.lab.network import running
from groupflow.study.experiment import Experiment, Findings, Frame, Study

KILLS = 3
"""in one run; then too few are left that serve others"""
HEADS = 2
"""that die in one run: there are two clusters besides the source's"""
KINDS: Mapping[str, Death] = {"killed": "killed", "silent": "silent", "killed, the head of a cluster": "head"}
RUNS, QUICK_RUNS = 5, 1
"""of each kind"""


def measure(frame: Frame[Repair]) -> Generator[Repair]:
    logs = frame.options.out / "logs"
    with running(variants.named("star"), logs) as network:
        ControllerProcess(network, logs).start()
        for number in frame.runs:
            for name, death in KINDS.items():
                health = HealthCheck(network)
                kills = HEADS if death == "head" else KILLS
                found = asyncio.run(repair.measure(network, kills, death))
                shown = ", ".join(f"{each.seconds * 1000:.0f} ms" for each in found)
                frame.console.print(f"run {number}, {name}: {shown}")
                frame.lagging += health.lagging()
                yield from found


def find(_: Frame[Repair], repairs: Sequence[Repair]) -> Findings:
    """The longest silence of those below one that died."""
    table = Table("", "deaths", "median", "longest")
    for name, death in KINDS.items():
        seconds = [each.seconds for each in repairs if each.death == death]
        if seconds:
            shown = [f"{value * 1000:.0f} ms" for value in (median(seconds), max(seconds))]
            table.add_row(name, str(len(seconds)), *shown)
    late = sum(each.seconds >= LIMIT_S for each in repairs)
    limit = f"{LIMIT_S:g} s"
    verdict = f"{late} of {len(repairs)} repairs took {limit} or more"
    form = [asdict(each) for each in repairs]
    shown = [table, f"no byte was lost or doubled; {verdict if late else f'all in less than {limit}'}"]
    return Findings({"repairs.json": form}, form, shown, failed=verdict if late else "")


EXPERIMENT = Experiment(
    "a clustered tree of hosts, of which some are killed",
    [
        Study(
            "tree",
            "the time without data below a host that dies",
            lambda quick, _: list(range(1, 1 + (QUICK_RUNS if quick else RUNS))),
        )
    ],
    takes=("quick",),
    measure=measure,
    find=find,
)
