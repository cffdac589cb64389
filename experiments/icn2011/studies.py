"""Beyond the paper's figures: what its silences decide, and its figures with CUBIC.

    python -m experiments.icn2011.studies agent-rate --jobs 2

Writes `STUDY.json` (points, as `points.json` of the reproduction has them) and prints a table.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments.common.claims import write_json
from experiments.icn2011 import figures
from experiments.icn2011.outcome import Points, points, rows
from experiments.icn2011.paper import DELAYS_MS, LOADS, METHODS, SECONDS, SEEDS, SPLIT, Case, cases
from experiments.icn2011.run import simulate

HIGH_LOADS = (0.4, 0.6, 0.8, 1.0)
AGENT_RATES = (20_000, 30_000, 40_000, 60_000, None)
"""packets/s. With four senders at load 1 and infinite rate an agent handles some 50,000."""
WINDOWS = (100, 300, 1000, 2100, 10_000)


def sender_buffer() -> Iterable[Case]:
    """A sender whose TCP is held back by its link, as an agent's is, instead of overflowing a buffer."""
    for method in METHODS:
        for load in HIGH_LOADS:
            for delay in DELAYS_MS:
                yield Case(method, load, delay_ms=delay, sender_buffer=False)


def window() -> Iterable[Case]:
    """The largest TCP window, of which the paper says nothing."""
    for method in SPLIT:
        for load in HIGH_LOADS:
            for delay in DELAYS_MS:
                for packets in WINDOWS:
                    yield Case(method, load, members=1, delay_ms=delay, window=packets)


def agent_rate() -> Iterable[Case]:
    """Agents that handle a bounded number of packets: the paper's "explosion in ACK packet transmission"."""
    for method in SPLIT:
        for load in HIGH_LOADS:
            for rate in AGENT_RATES:
                yield Case(method, load, senders=4, members=1, agent_pps=rate)


def cubic() -> Iterable[Case]:
    """The paper's figures with CUBIC."""
    return (replace(case, tcp="cubic") for case in cases(LOADS))


STUDIES: Mapping[str, Callable[[], Iterable[Case]]] = {
    "sender-buffer": sender_buffer,
    "window": window,
    "agent-rate": agent_rate,
    "cubic": cubic,
}


def print_points(console: Console, found: Points) -> None:
    """A row a point: what its case varies, and its indices."""
    table = Table(
        "method", "load", "senders", "delay", "TCP", "window", "held", "agent", "consumed", "received"
    )
    for name in ("least", "effective", "cache"):
        table.add_column(name)
    for case, point in found.items():
        mean = point.mean
        table.add_row(
            case.method,
            f"{case.load:g}",
            str(case.senders),
            f"{case.delay_ms} ms",
            case.tcp,
            str(case.window),
            "" if case.sender_buffer else "held",
            "" if case.agent_pps is None else f"{case.agent_pps}/s",
            f"{mean.consumption_mbps:.1f}",
            f"{mean.received_mbps:.1f}",
            f"{mean.reception_mbps:.2f}",
            f"{mean.effective:.3f}",
            f"{mean.cache_ratio:.3f}",
        )
    console.print(table)


def main() -> None:
    """Runs the studies that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", nargs="+", choices=sorted(STUDIES))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("out/reproduce/icn2011/studies"))
    options = parser.parse_args()
    console = Console()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.study:
        chosen = list(dict.fromkeys(STUDIES[name]()))
        seeds = range(1, options.seeds + 1)
        runs = simulate(chosen, seeds, seconds=options.seconds, cores=options.jobs, console=console)
        found = points(runs)
        write_json(options.out / f"{name}.json", rows(found))
        print_points(console, found)
        if name == "cubic":
            folder = options.out / "cubic"
            folder.mkdir(exist_ok=True)
            # The figures' lines are of the paper's TCP: what is drawn is the same points under its name.
            figures.draw(folder, {replace(case, tcp="sack"): point for case, point in found.items()})


if __name__ == "__main__":
    main()
