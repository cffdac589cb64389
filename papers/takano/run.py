"""`groupflow reproduce takano`: runs scenarios and studies, writes data, figures and claims, prints them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict

from rich.console import Console

from experiments.common.claims import RunSummary, print_claims, write_claims
from groupflow.cli.command import INTERRUPTED, OK, REFUSED, CommandError
from groupflow.cli.experiments import ExperimentOptions
from papers.takano import claims, parts
from papers.takano.execute import execute
from papers.takano.judge import Outcomes, evaluate
from papers.takano.outcome import Outcome
from papers.takano.paper import CASES, QUICK_CASES
from papers.takano.parts import Part
from papers.takano.plan import Run
from papers.takano.studies import STUDIES


def run(options: ExperimentOptions) -> int:
    """Exit code 0 when everything ran, whether the claims hold or not: that is what is measured.

    Interrupted (130), it writes and prints the claims of what is finished.
    """
    chosen = _chosen(options)
    owners = {each: part for part in chosen for each in part.runs}
    started = time.monotonic()
    console = Console(stderr=options.json)
    interrupted = False
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        runs = execute(_in_order(chosen), options.out / "data", options.jobs, console)
        with closing(runs):
            for outcome in runs:
                owners[outcome.run].add(outcome, options.out)
    except KeyboardInterrupt:
        interrupted = True
    except OSError as error:
        raise CommandError(
            f"{error.filename or options.out}: {error.strerror}; choose another --out"
        ) from None
    _report(options, chosen, time.monotonic() - started, console)
    if interrupted:
        done = sum(len(part.measured) for part in chosen)
        print(f"groupflow: interrupted after {done} of {len(owners)} runs", file=sys.stderr)
    return INTERRUPTED if interrupted else OK


def _chosen(options: ExperimentOptions) -> list[Part]:
    scenarios, studies = options.scenarios, options.studies
    if scenarios and studies:
        raise CommandError(
            f"--study {studies[0]}: studies choose their scenarios; give --scenario or --study, not both",
            REFUSED,
        )
    if not scenarios and not studies:
        scenarios, studies = QUICK_CASES if options.quick else tuple(CASES), tuple(STUDIES)
    for name in scenarios:
        if name not in CASES:
            raise CommandError(f"--scenario {name}: the paper has {', '.join(CASES)}", REFUSED)
    for name in studies:
        if name not in STUDIES:
            raise CommandError(f"--study {name}: there are {', '.join(STUDIES)}", REFUSED)
    quick, seed = options.quick, options.seed
    return [
        *(parts.scenario(name, quick=quick, seed=seed) for name in dict.fromkeys(scenarios)),
        *(parts.study(name, quick=quick, seed=seed) for name in dict.fromkeys(studies)),
    ]


def _in_order(chosen: Sequence[Part]) -> list[Run]:
    """The longest first: no core waits for one of them at the end."""
    return sorted((run for part in chosen for run in part.runs), key=lambda run: run.cost, reverse=True)


def _report(options: ExperimentOptions, chosen: Sequence[Part], wall_s: float, console: Console) -> None:
    outcomes: Outcomes = {label: runs for part in chosen for label, runs in part.outcomes.items()}
    rules = [*claims.RULES, *(rule for part in chosen for rule in part.rules)]
    found = evaluate(rules, outcomes)
    ran: list[Outcome] = [outcome for part in chosen for outcome in part.measured.values()]
    summary = RunSummary(
        wall_s=round(wall_s, 3),
        simulated_s=round(sum(float(outcome.time_s[-1]) for outcome in ran), 6),
        packet_hops=sum(outcome.packet_hops for outcome in ran),
        seed=options.seed,
    )
    write_claims(options.out, found, summary)
    if options.json:
        json.dump(
            {"claims": [asdict(claim) for claim in found], "run": asdict(summary)}, sys.stdout, indent=2
        )
        print()
    else:
        print_claims(console, found)
        console.print(
            f"{summary.packet_hops / 1e6:.0f} million packet hops in {summary.wall_s:.0f} s; {options.out}"
        )
