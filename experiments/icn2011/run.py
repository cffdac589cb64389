"""`groupflow reproduce icn2011`: runs figures or studies, writes data, figures and claims, prints them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict

from rich.console import Console

from experiments.common.claims import RunSummary, print_claims, write_claims
from experiments.icn2011 import parts
from experiments.icn2011.execute import execute
from experiments.icn2011.figures import FIGURES
from experiments.icn2011.parts import Part
from experiments.icn2011.plan import Run
from experiments.icn2011.studies import STUDIES
from groupflow.cli.command import INTERRUPTED, OK, REFUSED, CommandError
from groupflow.cli.experiments import ExperimentOptions


def run(options: ExperimentOptions) -> int:
    """Exit code 0 when everything ran, whether the claims hold or not: that is what is measured.

    Interrupted (130), it writes and prints the claims of what is finished.
    """
    chosen = _chosen(options)
    wanted = _in_order(chosen)
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


def _chosen(options: ExperimentOptions) -> list[Part]:
    """The figures, or the studies that are named."""
    quick, seed = options.quick, options.seed
    if options.scenarios:
        raise CommandError(
            f"--scenario {options.scenarios[0]}: this paper has none; leave it out, or choose a --study",
            REFUSED,
        )
    for name in options.studies:
        if name not in STUDIES:
            raise CommandError(f"--study {name}: there are {', '.join(STUDIES)}", REFUSED)
    if options.studies:
        return [parts.study(name, quick=quick, seed=seed) for name in dict.fromkeys(options.studies)]
    return [parts.figure(figure, quick=quick, seed=seed) for figure in FIGURES]


def _in_order(chosen: Sequence[Part]) -> list[Run]:
    """Part after part; of each the longest first, so that no core waits for one of them at the end."""
    ordered = (run for part in chosen for run in sorted(part.runs, key=lambda run: -run.cost))
    return list(dict.fromkeys(ordered))


def _report(options: ExperimentOptions, chosen: Sequence[Part], wall_s: float, console: Console) -> int:
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
