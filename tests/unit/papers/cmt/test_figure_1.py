"""The three networks of the paper's Fig. 1: what netsim shows, and claims that can fail."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from papers.cmt import figure_1
from papers.cmt.figure_1 import RECIPIENTS, SENDERS, Outcomes, Run, later_ms, run_one

pytestmark = pytest.mark.slow


@cache
def measured() -> Outcomes:
    return {way: run_one(Run(way, 1), Path(mkdtemp()) / way) for way in SENDERS}


def held(outcomes: Outcomes) -> set[str]:
    return {claim.id.split("figure-1-")[1] for claim in figure_1.judge(outcomes) if claim.holds}


def test_all_claims_hold(tmp_path: Path) -> None:
    ways = ("multicast-copies", "multicast-delay", "chain-copies", "chain-delay", "tree-copies")
    assert held(measured()) == {*ways, "tree-m2", "dispatchers"}
    assert [round(later_ms(measured(), "chain", to)) for to in RECIPIENTS] == [25, 0, 2]
    figure_1.draw(tmp_path / "figure.png", measured())
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_claims_can_fail() -> None:
    """With the outcomes of two ways exchanged."""

    def exchanged(one: str, other: str) -> set[str]:
        return held({**measured(), one: measured()[other], other: measured()[one]})

    assert not exchanged("chain", "multicast") & {
        "multicast-copies", "multicast-delay", "chain-copies", "chain-delay"
    }  # fmt: skip
    assert not exchanged("tree", "chain") & {"tree-copies", "chain-delay"}
    assert "tree-m2" not in exchanged("tree", "unicast")
