"""`groupflow experiment diffusion`: kernel TCP on six gfswitches, with and without control, and in netsim."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments.common.flows import Flow
from experiments.common.nearness import WITHIN
from experiments.diffusion import figure, kernel, simulated
from experiments.diffusion.compare import Comparison, compare
from experiments.diffusion.result import Plan, Result
from groupflow.cli.command import FAILURE, INTERRUPTED, OK, CommandError
from groupflow.study.files import write_json
from groupflow.study.options import ExperimentOptions
from topologies import variants
from topologies.controller import ControllerError
from topologies.daemon import DaemonError
from topologies.network import NetworkError

FLOWS = (Flow("target", "h1", "h6", 5001), Flow("background", "h3", "h7", 5002, start_s=2.0))
FULL = Plan(FLOWS, seconds=20.0, settled_s=5.0, window_packets=200)
QUICK = Plan(FLOWS, seconds=8.0, settled_s=4.0, window_packets=200)
CONTROLS = ("reno", "cubic")


def run(options: ExperimentOptions) -> int:
    """Exit code 1 where a switch lagged behind: the figures would be about the machine.

    An interrupt keeps the runs that are finished: their table, figure and files.
    """
    plan = QUICK if options.quick else FULL
    topology = variants.named("chain")
    console = Console(stderr=options.json)
    results: list[Result] = []
    interrupted = False
    try:
        for control in CONTROLS[:1] if options.quick else CONTROLS:
            for dfc in (False, True):
                console.print(f"{control}, {'with' if dfc else 'without'} control: {plan.seconds:g} s ...")
                logs = options.out / "logs" / f"{control}-{'dfc' if dfc else 'tcp'}"
                results.append(kernel.run(topology, plan, control, dfc=dfc, logs=logs))
                results.append(simulated.run(topology, plan, control, dfc=dfc))
    except (kernel.KernelRunError, NetworkError, DaemonError, ControllerError) as error:
        raise CommandError(str(error)) from None
    except KeyboardInterrupt:
        if not results:
            raise
        interrupted = True
    comparisons = compare(plan, results)
    write(options.out, plan, results, comparisons)
    figure.draw(options.out / "diffusion.png", plan, list(topology.switches)[:-1], results)
    if options.json:
        json.dump([asdict(c) for c in comparisons], sys.stdout, indent=2)
        print()
    else:
        report(console, plan, results, comparisons)
        console.print(f"figure and data: {options.out}")
    lagging = [line for result in results for line in result.cpu_bound]
    for line in lagging:
        print(f"groupflow: CPU-bound, do not trust the figures: {line}", file=sys.stderr)
    if interrupted:
        return INTERRUPTED
    return FAILURE if lagging else OK


def write(out: Path, plan: Plan, results: Sequence[Result], comparisons: Sequence[Comparison]) -> None:
    """`summary.json`, and `queues.csv` with every sample."""
    rows = [
        {
            "where": result.where,
            "congestion_control": result.control,
            "dfc": result.dfc,
            "goodput_bps": result.goodput_bps,
            "drops": result.drops,
            "retransmitted": result.retransmitted,
            "mean_queue_packets": result.mean_queues(plan.settled_s).tolist(),
            "cpu_bound": list(result.cpu_bound),
        }
        for result in results
    ]
    compared = [asdict(c) | {"difference": c.difference, "within": c.within} for c in comparisons]
    write_json(out / "summary.json", {"runs": rows, "comparison": compared})
    with (out / "queues.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["where", "congestion_control", "dfc", "time_s", "switch", "queue_packets"])
        for result in results:
            for time_s, row in zip(result.time_s, result.queues, strict=True):
                for place, packets in enumerate(row, 1):
                    cells = (result.where, result.control, result.dfc, f"{time_s:.3f}", f"s{place}")
                    table.writerow([*cells, int(packets)])


def report(
    console: Console, plan: Plan, results: Sequence[Result], comparisons: Sequence[Comparison]
) -> None:
    """The tables in the terminal."""
    flows = [flow.name for flow in plan.flows]
    rates = [f"{name} Mb/s" for name in flows]
    table = Table("where", "TCP", "control", *rates, "dropped", "again", "packets in s1..s5")
    for result in results:
        goodput = [f"{result.goodput_bps[name] / 1e6:.2f}" for name in flows]
        queues = " ".join(f"{mean:.0f}" for mean in result.mean_queues(plan.settled_s))
        again = str(sum(result.retransmitted.values()))
        control = "DFC" if result.dfc else "-"
        table.add_row(result.where, result.control, control, *goodput, str(result.dropped), again, queues)
    console.print(table)
    beside = Table("TCP", "DFC", "quantity", "kernel", "netsim", "differs by")
    for c in comparisons:
        figures = (f"{c.kernel:.2f}", f"{c.netsim:.2f}", f"{c.difference:+.0%}" if not c.within else "")
        beside.add_row(c.control, "yes" if c.dfc else "no", f"{c.quantity}, {c.unit}", *figures)
    console.print(beside)
    near = sum(c.within for c in comparisons)
    console.print(f"within {WITHIN:.0%} of the real network: {near} of {len(comparisons)}")
