"""The study of several children: what a run shows, and claims that can fail."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from papers.cmt.children import delay_ms, drawn, judged, runs
from papers.cmt.slow.network import run_one
from papers.cmt.slow.runs import Outcome, Outcomes


@cache
def measured() -> list[Outcome]:
    return [run_one(run) for run in runs(True, 1)]


def held(outcomes: Outcomes) -> dict[str, bool]:
    return {claim.id: claim.holds for claim in judged(outcomes)}


@pytest.mark.slow
def test_all_claims_hold_in_the_quick_variant(tmp_path: Path) -> None:
    assert held(measured()) == dict.fromkeys(
        ("parallel-delay", "parallel-rate", "children-delay", "children-rate"), True
    )
    drawn(tmp_path / "children.png", measured())
    assert (tmp_path / "children.png").stat().st_size > 10_000


@pytest.mark.slow
def test_claims_can_fail() -> None:
    """Outcomes with both ways to send exchanged, and with the numbers of children exchanged."""
    ways = [replace(o, run=replace(o.run, one_by_one=not o.run.one_by_one)) for o in measured()]
    assert not held(ways)["parallel-delay"] and not held(ways)["parallel-rate"]
    other = {1: 8, 8: 1}
    swapped = [
        replace(o, run=replace(o.run, children=other.get(o.run.children or 0, o.run.children)))
        for o in measured()
    ]
    assert not held(swapped)["children-delay"] and not held(swapped)["children-rate"]


@pytest.mark.slow
def test_a_chain_does_not_wait_for_another_child() -> None:
    """With one child each, a host waits only for the packet before."""
    first, second = (o for o in measured() if o.run.children == 1 and o.run.rate_mbps < 1)
    assert (first.run.one_by_one, second.run.one_by_one) == (False, True)
    assert delay_ms(second) < 3 * delay_ms(first)
