"""What the command can run: Table 1 and studies, each with its simulations and its files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from experiments.common import part
from papers.amcb import claims, figures, flowcharts
from papers.amcb.outcome import Outcome, Outcomes, write_table
from papers.amcb.paper import METHODS, QUICK_SEEDS, QUICK_SIZES, SEEDS, SIZES, Case, Run
from papers.amcb.studies import STUDIES

Part: TypeAlias = part.Part[Run, Outcome, Outcomes]


def table(*, quick: bool, seed: int) -> Part:
    """Table 1."""
    cases = [Case(size, method) for size in (QUICK_SIZES if quick else SIZES) for method in METHODS]
    runs = _runs(cases, quick=quick, seed=seed)
    return part.Part("table-1", runs, _by_case, claims.evaluate, _draw, write_table)


def _draw(path: Path, found: Outcomes) -> None:
    figures.table_1(path, found)
    flowcharts.draw(path.with_name("bone-hub.png"), path.with_name("bone-rim.png"))


def study(name: str, *, quick: bool, seed: int) -> Part:
    chosen = STUDIES[name]
    runs = _runs(chosen.cases(quick), quick=quick, seed=seed)
    return part.Part(f"study-{name}", runs, _by_case, chosen.judge, chosen.draw, write_table)


def _by_case(outcomes: Sequence[Outcome]) -> Outcomes:
    found: dict[Case, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.run.case, []).append(outcome)
    return found


def _runs(cases: Iterable[Case], *, quick: bool, seed: int) -> list[Run]:
    each = range(seed, seed + (QUICK_SEEDS if quick else SEEDS))
    return [Run(case, number) for case in dict.fromkeys(cases) for number in each]
