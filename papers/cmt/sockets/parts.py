"""What the command can run of sockets: the two tables, the figure, the grid, and studies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from experiments.common import part
from experiments.common.claims import Claim
from papers.cmt.sockets import claims, figures
from papers.cmt.sockets.outcome import Found, Outcome, Outcomes, by_choice, write_table
from papers.cmt.sockets.paper import (
    BUFFERS,
    CONNECTIONS,
    MIDDLE,
    QUICK_CONNECTIONS,
    QUICK_SEEDS,
    QUICK_UP_TO_MOST,
    SEEDS,
    SMALL,
    UP_TO_MOST,
    Case,
    Open,
    Run,
)
from papers.cmt.sockets.studies import STUDIES

Part: TypeAlias = part.Part[Run, Outcome, Outcomes]


def paper(*, quick: bool, seed: int) -> list[Part]:
    """Table 1, Table 2, figure 2, and both buffer and connections at once."""
    connections = QUICK_CONNECTIONS if quick else CONNECTIONS
    most = QUICK_UP_TO_MOST if quick else UP_TO_MOST
    both = [Case(buffer, n) for buffer in BUFFERS for n in connections]
    seeds = range(seed, seed + (QUICK_SEEDS if quick else SEEDS))
    return [
        _part("table-1", [Case(b) for b in BUFFERS], seeds, claims.table_1, figures.table_1),
        _part("table-2", [Case(SMALL, n) for n in connections], seeds, claims.table_2, figures.table_2),
        _part("figure-2", [Case(MIDDLE, n) for n in most], seeds, claims.figure_2, figures.figure_2),
        _part("grid", both, seeds, claims.grid, figures.grid),
    ]


def study(name: str, *, quick: bool, seed: int) -> Part:
    chosen = STUDIES[name]
    runs = _runs(chosen.cases(quick), range(seed, seed + QUICK_SEEDS))
    return part.Part(f"study-{name}", runs, by_choice, chosen.judge, chosen.draw, write_table)


def _part(
    name: str,
    cases: Iterable[Case],
    seeds: Iterable[int],
    judge: Callable[[Found], list[Claim]],
    draw: Callable[[Path, Found], None],
) -> Part:
    return part.Part(
        name,
        _runs(cases, seeds),
        by_choice,
        lambda outcomes: judge(outcomes[Open()]),
        lambda path, outcomes: draw(path, outcomes[Open()]),
        write_table,
    )


def _runs(cases: Iterable[Case], seeds: Iterable[int]) -> list[Run]:
    return [Run(case, number) for case in cases for number in seeds]
