"""What `groupflow reproduce` does for a paper: runs the simulations of its parts, writes and prints their
claims."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any, Protocol, TypeVar

from rich.console import Console

from experiments.common.claims import RunSummary, print_claims, write_claims
from experiments.common.part import Part
from groupflow.cli.command import INTERRUPTED, OK, REFUSED, CommandError
from groupflow.cli.experiments import ExperimentOptions


class Outcome(Protocol):
    """What a simulation measured, as far as the report needs it."""

    @property
    def run(self) -> Any: ...
    @property
    def simulated_s(self) -> float: ...
    @property
    def packet_hops(self) -> int: ...


Run = TypeVar("Run")
Measured = TypeVar("Measured", bound=Outcome)

Execute = Callable[[Sequence[Run], int, Console], Generator[Measured]]
"""outcomes of runs, on so many cores, as they come"""


def choose_studies(options: ExperimentOptions, studies: Sequence[str]) -> list[str]:
    """The studies that are named, each once. Raises CommandError for others, and for scenarios: there are
    none."""
    if options.scenarios:
        raise CommandError(
            f"--scenario {options.scenarios[0]}: this paper has none; leave it out, or choose a --study",
            REFUSED,
        )
    for name in options.studies:
        if name not in studies:
            raise CommandError(f"--study {name}: there are {', '.join(studies)}", REFUSED)
    return list(dict.fromkeys(options.studies))


def reproduce(
    options: ExperimentOptions,
    chosen: Sequence[Part[Run, Measured, Any]],
    execute: Execute[Run, Measured],
    cost: Callable[[Run], float],
) -> int:
    """Exit code 0 when everything ran, whether the claims hold or not: that is what is measured.

    Interrupted (130), it writes and prints the claims of what is finished.
    """
    wanted = _in_order(chosen, cost)
    started = time.monotonic()
    console = Console(stderr=options.json)
    interrupted = False
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        with closing(execute(wanted, options.jobs, console)) as runs:
            for outcome in runs:
                for part in chosen:
                    part.add(outcome, options.out)
    except KeyboardInterrupt:
        interrupted = True
    except OSError as error:
        raise CommandError(
            f"{error.filename or options.out}: {error.strerror}; choose another --out"
        ) from None
    done = _report(options, chosen, time.monotonic() - started, console)
    if interrupted:
        print(f"groupflow: interrupted after {done} of {len(wanted)} runs", file=sys.stderr)
    return INTERRUPTED if interrupted else OK


def _in_order(chosen: Sequence[Part[Run, Measured, Any]], cost: Callable[[Run], float]) -> list[Run]:
    """Part after part; of each the longest first, so that no core waits for one of them at the end."""
    ordered = (run for part in chosen for run in sorted(part.runs, key=lambda run: -cost(run)))
    return list(dict.fromkeys(ordered))


def _report(
    options: ExperimentOptions, chosen: Sequence[Part[Run, Measured, Any]], wall_s: float, console: Console
) -> int:
    """Gives how many runs are over."""
    found = [claim for part in chosen for claim in part.claims]
    ran = {run: outcome for part in chosen for run, outcome in part.measured.items()}
    summary = RunSummary(
        wall_s=round(wall_s, 3),
        simulated_s=round(sum(outcome.simulated_s for outcome in ran.values()), 6),
        packet_hops=sum(outcome.packet_hops for outcome in ran.values()),
        seed=options.seed,
    )
    write_claims(options.out, found, summary)
    if options.json:
        json.dump({"claims": [asdict(c) for c in found], "run": asdict(summary)}, sys.stdout, indent=2)
        print()
    else:
        print_claims(console, found)
        console.print(
            f"{len(ran)} runs, {summary.packet_hops / 1e6:.0f} million packet hops"
            f" in {summary.wall_s:.0f} s; {options.out}"
        )
    return len(ran)
