"""`groupflow reproduce cmt`: runs tables, the tree or studies; writes data, figures, claims; prints them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, TypeAlias

from rich.console import Console

from experiments.common.pool import run_all
from experiments.common.reproduction import choose_studies, reproduce
from groupflow.cli.experiments import ExperimentOptions
from papers.cmt.slow import outcome as slow
from papers.cmt.slow import plan as slow_plan
from papers.cmt.slow.parts import STUDIES as OF_SLOW_HOSTS
from papers.cmt.sockets import outcome as sockets
from papers.cmt.sockets import paper
from papers.cmt.sockets import parts as tables
from papers.cmt.sockets.studies import STUDIES as OF_SOCKETS
from papers.cmt.tree import outcome as tree
from papers.cmt.tree import plan
from papers.cmt.tree.parts import STUDIES as OF_TREES

Run: TypeAlias = paper.Run | plan.Run | slow_plan.Run
Outcome: TypeAlias = sockets.Outcome | tree.Outcome | slow.Outcome

OF_OVERLAYS = {**OF_TREES, **OF_SLOW_HOSTS}


def run(options: ExperimentOptions) -> int:
    """Tables 1 and 2, figure 2, the grid of both, and the tree; or the named studies; see `reproduce`."""
    quick, seed = options.quick, options.seed
    chosen: list[Any] = [
        OF_OVERLAYS[name](quick=quick, seed=seed)
        if name in OF_OVERLAYS
        else tables.study(name, quick=quick, seed=seed)
        for name in choose_studies(options, [*OF_SOCKETS, *OF_OVERLAYS])
    ] or [*tables.paper(quick=quick, seed=seed), OF_TREES["tree"](quick=quick, seed=seed)]
    return reproduce(options, chosen, _execute, _cost)


def _execute(runs: Sequence[Run], jobs: int, console: Console) -> Generator[Outcome]:
    return run_all(_run_one, runs, cores=jobs, console=console, what=_said)


def _run_one(run: Run) -> Outcome:
    match run:
        case plan.Run():
            return tree.run_one(run)
        case slow_plan.Run():
            return slow.run_one(run)
        case paper.Run():
            return sockets.run_one(run)


def _said(outcome: Outcome) -> str:
    match outcome:
        case tree.Outcome():
            return f"a tree of {outcome.run.hosts:,} hosts"
        case slow.Outcome():
            return f"a slow host, moved down: {outcome.run.name}, {outcome.run.mode}"
        case sockets.Outcome():
            case = outcome.run.case
            return f"{case.buffer:,} bytes, {case.connections} connections"


def _cost(run: Run) -> float:
    match run:
        case plan.Run():
            return run.hosts
        case slow_plan.Run():
            return run.hosts
        case paper.Run():
            return 1 / run.case.connections
