"""What the command can run: figures of the paper and studies, each with its simulations and its files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

from experiments.common import part
from experiments.common.claims import Claim
from papers.icn2011 import claims, figures, plan
from papers.icn2011.figures import Figure
from papers.icn2011.outcome import Outcome, Points, points, write_table
from papers.icn2011.plan import Run
from papers.icn2011.studies import STUDIES

Part: TypeAlias = part.Part[Run, Outcome, Points]


def figure(chosen: Figure, *, quick: bool, seed: int) -> Part:
    """Of the paper."""
    runs = plan.runs(chosen.cases(plan.loads(quick=quick)), quick=quick, seed=seed)
    draw = partial(_draw_figure, chosen)
    return _part(f"figure-{chosen.number}", runs, partial(claims.evaluate, chosen.number), draw)


def study(name: str, *, quick: bool, seed: int) -> Part:
    chosen = STUDIES[name]
    runs = plan.runs(chosen.cases(quick), quick=quick, seed=seed)
    return _part(f"study-{name}", runs, chosen.judge, chosen.draw)


def _part(
    name: str, runs: list[Run], judge: Callable[[Points], list[Claim]], draw: Callable[[Path, Points], None]
) -> Part:
    return part.Part(name, runs, points, judge, draw, write_table)


def _draw_figure(chosen: Figure, path: Path, found: Points) -> None:
    figures.draw(path, chosen, found)
