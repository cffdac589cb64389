"""The studies of sockets: Table 1, Table 2, figure 2, and both buffer and connections at once."""

from collections.abc import Callable
from pathlib import Path

from groupflow.study.claims import Claim
from groupflow.study.experiment import AnyStudy
from papers.cmt.sockets import claims, figures, paper
from papers.cmt.sockets.outcome import SIMULATION, Found, runs
from papers.cmt.sockets.paper import Case


def _several(quick: bool) -> tuple[int, ...]:
    return paper.QUICK_CONNECTIONS if quick else paper.CONNECTIONS


def _study(
    name: str,
    about: str,
    cases: Callable[[bool], list[Case]],
    judge: Callable[[Found], list[Claim]],
    draw: Callable[[Path, Found], None],
) -> AnyStudy:
    """A study with the default choice of the open parameters."""
    return SIMULATION.study(
        name,
        about,
        runs(cases),
        lambda outcomes: judge(outcomes[None]),
        lambda path, outcomes: draw(path, outcomes[None]),
    )


TABLES = (
    _study("table-1", "rates by the buffer of one connection",
           lambda _: [Case(b) for b in paper.BUFFERS], claims.table_1, figures.table_1),
    _study("table-2", "rates by the number of connections",
           lambda quick: [Case(paper.SMALL, n) for n in _several(quick)], claims.table_2, figures.table_2),
    _study("figure-2", "times of up to twenty connections",
           lambda quick: [
               Case(paper.MIDDLE, n) for n in (paper.QUICK_UP_TO_MOST if quick else paper.UP_TO_MOST)
           ],
           claims.figure_2, figures.figure_2),
    _study("grid", "buffers and connections at once",
           lambda quick: [Case(b, n) for b in paper.BUFFERS for n in _several(quick)],
           claims.grid, figures.grid),
)  # fmt: skip
