"""What the command can run: figures of the paper and studies, each with its simulations and its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from experiments.common import part
from experiments.common.claims import Claim
from papers.sakajiri.claims import RULES
from papers.sakajiri.figures import FIGURES
from papers.sakajiri.outcome import Outcome, Outcomes, by_case, write_table
from papers.sakajiri.paper import FULL, QUICK, QUICK_SEEDS, SEEDS, Case, Run
from papers.sakajiri.studies import STUDIES

Part: TypeAlias = part.Part[Run, Outcome, Outcomes]


def figures(*, quick: bool, seed: int) -> list[Part]:
    """Figures 3, 5, 6 and 7, and Table II."""
    return [
        _part(name, _runs(figure.cases, quick=quick, seed=seed), RULES[name], figure.draw)
        for name, figure in FIGURES.items()
    ]


def study(name: str, *, quick: bool, seed: int) -> Part:
    chosen = STUDIES[name]
    runs = _runs(chosen.cases(quick), quick=quick, seed=seed, seeds=chosen.seeds)
    return _part(f"study-{name}", runs, chosen.judge, chosen.draw)


def _part(
    name: str,
    runs: list[Run],
    judge: Callable[[Outcomes], list[Claim]],
    draw: Callable[[Path, Outcomes], None],
) -> Part:
    return part.Part(name, runs, by_case, judge, draw, write_table)


def _runs(cases: Iterable[Case], *, quick: bool, seed: int, seeds: int = SEEDS) -> list[Run]:
    each = range(seed, seed + (QUICK_SEEDS if quick else seeds))
    scale = QUICK if quick else FULL
    return [Run(case, number, scale) for case in dict.fromkeys(cases) for number in each]
