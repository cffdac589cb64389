"""Fig. 3: a pile of packets spreads in netsim, and its claims can fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from papers.takano import spreading
from papers.takano.outcome import Outcome, run_one

pytestmark = pytest.mark.slow
"""the run takes a second or more"""


@pytest.fixture(scope="module")
def pile(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run_one(spreading.RUN, tmp_path_factory.mktemp("figure-3") / "run")


def judged(outcome: Outcome) -> dict[str, bool]:
    return {
        claim.id.removeprefix("figure-3-"): claim.holds for claim in spreading.judge({"figure-3": [outcome]})
    }


def test_a_pile_becomes_normal_moves_on_and_spreads_less_than_with_a_uniform_rate(
    pile: Outcome, tmp_path: Path
) -> None:
    assert judged(pile) == {"normal": True, "variance": False}
    first, *_, last = spreading.piles(pile)
    assert first.stored.max() == spreading.PACKETS == pytest.approx(last.stored.sum() * 1.1, rel=0.02)
    assert (last.mean - first.mean) / 200 == pytest.approx(0.1 / 1.1, rel=0.02), "renewal: D / (1 + D)"
    spreading.draw(tmp_path / "figure-3.png", {"figure-3": [pile]})
    assert (tmp_path / "figure-3.png").stat().st_size > 1000


def test_a_pile_may_also_spread_as_the_equations_say_or_stay(pile: Outcome) -> None:
    nodes = np.arange(1, pile.case.nodes + 1)
    queues = np.zeros_like(pile.queues)
    for row, time_s in enumerate(pile.time_s):
        if time_s > spreading.START_S:
            variance = 0.2 * (time_s - spreading.START_S) * 1e4
            bell = np.exp(-((nodes - 30) ** 2) / (2 * variance))
            queues[row] = 300 * bell / bell.sum()
    assert judged(replace(pile, queues=queues)) == {"normal": True, "variance": True}
    square = np.where(np.abs(nodes - 30) < 9, 300 / 17, 0.0)
    queues[pile.time_s > spreading.START_S] = square
    assert judged(replace(pile, queues=queues)) == {"normal": False, "variance": False}
