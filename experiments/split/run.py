"""`groupflow experiment split`: the ICN 2011 network with kernel TCP at one load, and in netsim."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from experiments.common.nearness import WITHIN
from experiments.split import figure, kernel, simulated
from experiments.split.compare import Comparison, compare
from experiments.split.plan import CONTROLS, SENDER, Plan, Result, Where
from groupflow.cli.command import FAILURE, INTERRUPTED, OK, CommandError
from groupflow.study.files import write_json
from groupflow.study.options import ExperimentOptions
from papers.icn2011.paper import NAMES, Case
from topologies.controller import ControllerError
from topologies.daemon import DaemonError
from topologies.network import NetworkError


def run(options: ExperimentOptions) -> int:
    """Exit code 1 where a switch lagged behind: the figures would be about the machine.

    An interrupt keeps the runs that are finished: their table, figure and files.
    """
    if options.quick:
        plan = Plan(seconds=8.0, members=(1,), tcp=("sack",), seed=options.seed)
    else:
        plan = Plan(seconds=30.0, members=(1, 3), tcp=("sack", "cubic"), seed=options.seed)
    console = Console(stderr=options.json)
    results: list[Result] = []
    interrupted = False
    try:
        for case in plan.cases():
            console.print(f"{_title(case)}: {plan.seconds:g} s ...")
            results += _results(plan, case, options.out / "logs")
    except (NetworkError, DaemonError, ControllerError) as error:
        raise CommandError(str(error)) from None
    except KeyboardInterrupt:
        if not results:
            raise
        interrupted = True
    comparisons = compare(results)
    write(options.out, plan, results, comparisons)
    figure.draw(options.out / "split.png", plan, results)
    if options.json:
        json.dump([_form(c) for c in comparisons], sys.stdout, indent=2)
        print()
    else:
        report(console, results, comparisons)
        console.print(f"figure and data: {options.out}")
    lagging = [f"{_title(result.case)}: {line}" for result in results for line in result.cpu_bound]
    for line in lagging:
        print(f"groupflow: CPU-bound, do not trust the figures: {line}", file=sys.stderr)
    if interrupted:
        return INTERRUPTED
    return FAILURE if lagging else OK


def _results(plan: Plan, case: Case, logs: Path) -> Iterator[Result]:
    """One case on the real network, and in netsim; in both its forms where they differ."""
    messages = simulated.message_times(plan, case.members)
    folder = f"{case.method}-{case.members}-{CONTROLS[case.tcp]}"
    yield kernel.run(plan, case, messages, logs / folder)
    forms: tuple[Where, ...] = ("netsim", "netsim exact") if case.method == "e2e" else ("netsim",)
    for where in forms:
        yield simulated.run(plan, case, where)


def write(out: Path, plan: Plan, results: Sequence[Result], comparisons: Sequence[Comparison]) -> None:
    """`summary.json`; `members.csv` with what each received, `links.csv` with what each link carried."""
    rows = [
        {
            "where": result.where,
            **_case(result.case),
            "throughput_bps": dict(result.throughput_bps),
            "link_bytes": {f"{one}>{other}": count for (one, other), count in result.link_bytes.items()},
            "cache_peak_bytes": dict(result.cache_peak_bytes),
            "dropped": result.dropped,
            "cpu_bound": list(result.cpu_bound),
        }
        for result in results
    ]
    form = {"plan": asdict(plan), "runs": rows, "comparison": [_form(c) for c in comparisons]}
    write_json(out / "summary.json", form)
    _write_rows(
        out / "members.csv",
        ("member", "throughput_bps"),
        [(result, (name, f"{bps:.0f}")) for result in results for name, bps in result.throughput_bps.items()],
    )
    _write_rows(
        out / "links.csv",
        ("from", "to", "bytes"),
        [(result, (*ends, str(count))) for result in results for ends, count in result.link_bytes.items()],
    )


def _write_rows(path: Path, columns: Sequence[str], rows: Sequence[tuple[Result, Sequence[str]]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["where", "method", "members", "tcp", *columns])
        for result, cells in rows:
            table.writerow([result.where, *_case(result.case).values(), *cells])


def report(console: Console, results: Sequence[Result], comparisons: Sequence[Comparison]) -> None:
    """The tables in the terminal."""
    table = Table("run", "where", "Mb/s", f"{SENDER}-s1 MB", "s1-s2 MB", "cache s1 MB", "cache s2 MB")
    for r in results:
        mean = f"{fmean(r.throughput_bps.values()) / 1e6:.2f}"
        links = [f"{r.link_bytes[ends] / 1e6:.1f}" for ends in ((SENDER, "s1"), ("s1", "s2"))]
        caches = [f"{r.cache_peak_bytes[s] / 1e6:.2f}" if r.cache_peak_bytes else "" for s in ("s1", "s2")]
        table.add_row(_title(r.case), r.where, mean, *links, *caches)
    console.print(table)
    apart = Table("run", "netsim's form", "quantity", "kernel", "netsim", "differs by")
    for c in comparisons:
        if c.expected and not c.within:
            figures = (f"{c.kernel:.2f}", f"{c.netsim:.2f}", f"{c.difference:+.0%}")
            form = "exact" if c.where == "netsim exact" else ""
            apart.add_row(_title(c.case), form, f"{c.quantity}, {c.unit}", *figures)
    if apart.rows:
        console.print(apart)
    expected = [c for c in comparisons if c.expected and c.where == "netsim"]
    near = sum(c.within for c in expected)
    console.print(
        f"throughput and link bytes within {WITHIN:.0%} of the real network: {near} of {len(expected)}"
    )


def _title(case: Case) -> str:
    return f"{NAMES[case.method]} to {3 * case.members}, {CONTROLS[case.tcp]}"


def _case(case: Case) -> dict[str, str]:
    return {"method": case.method, "members": str(3 * case.members), "tcp": CONTROLS[case.tcp]}


def _form(c: Comparison) -> dict[str, object]:
    return {
        **_case(c.case),
        "where": c.where,
        "quantity": c.quantity,
        "unit": c.unit,
        "kernel": c.kernel,
        "netsim": c.netsim,
        "difference": c.difference,
        "within": c.within,
        "expected": c.expected,
    }
