"""The judgement in the studies beyond the split-connection paper, on made-up points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from papers.icn2011.outcome import Indices, Point
from papers.icn2011.paper import Case
from tests.support.studies import beyond
from tests.unit.papers.icn2011.test_claims import NOTHING, as_the_paper_says

STUDIES = beyond("icn2011")

Make = Callable[[Case], Indices]


def points(name: str, make: Make, *, quick: bool = False) -> dict[Case, Point]:
    cases = (run.case for run in STUDIES[name].runs(quick, 1))
    return {case: Point(make(case), NOTHING) for case in dict.fromkeys(cases)}


def held(name: str, make: Make, *, quick: bool = False) -> set[str]:
    claims = list(STUDIES[name].judge(points(name, make, quick=quick)))
    assert all(claim.figure.startswith(f"study {name}") for claim in claims)
    return {claim.id.removeprefix(f"study-{name}-") for claim in claims if claim.holds}


def slow_agents(case: Case) -> Indices:
    """Up to 30,000 packets/s they do what the paper says."""
    slow = case.agent_pps is not None and case.agent_pps <= 30_000
    received = 40.0 - 20 * case.load if slow and case.method == "n2n" else 60.0
    return replace(NOTHING, received_mbps=received, cache_ratio=0.8 if slow else 0.4)


def test_one_rate_of_agents_must_explain_all() -> None:
    statements = {"n2n-degrades", "e2e-stays", "e2e-more", "n2n-cache"}
    assert held("agent-rate", slow_agents) == statements | {"all"}

    def elsewhere(case: Case) -> Indices:
        """It caches as the paper says at other rates only."""
        indices = slow_agents(case)
        return replace(indices, cache_ratio=1.2 - indices.cache_ratio)

    assert held("agent-rate", elsewhere) == statements

    def near(case: Case) -> Indices:
        return replace(NOTHING, received_mbps=51.0 if case.method == "e2e" else 50.0)

    assert held("agent-rate", near) == {"e2e-stays"}


def test_a_connection_a_message_is_judged_as_figures_7_and_12_are() -> None:
    found = held("connections", as_the_paper_says)
    assert {"unicast-zero-10ms", "unicast-zero-100ms", "e2e-delay", "e2e-reception-100ms"} <= found
    assert {"n2n-four-cache", "e2e-four-cache", "four-cache-more", "n2n-one-cache"} <= found
    same = held("connections", lambda _: replace(NOTHING, reception_mbps=6.0))
    assert not same & {"unicast-zero-10ms", "e2e-delay", "e2e-reception-100ms"}


def test_a_reading_of_the_cache_ratio_must_explain_all_of_figure_12() -> None:
    def half(case: Case) -> Indices:
        """All senders transmitted twice what those beside SA1 did, if there are four."""
        says = as_the_paper_says(case)
        return replace(
            says, cache_ratio=says.cache_ratio / min(case.senders, 2), own_cache_ratio=says.cache_ratio
        )

    found = held("cache-ratio", half)
    assert {"own-explains", "own-n2n-four-cache", "all-e2e-one-cache"} <= found
    assert not found & {"all-explains", "all-n2n-four-cache"}


def test_diffusion_is_compared_with_the_same_without() -> None:
    def better(case: Case) -> Indices:
        if case.diffusion is None:
            return replace(NOTHING, reception_mbps=10.0, cache_ratio=0.5, lost_in_network=1000.0)
        return replace(NOTHING, reception_mbps=20.0, cache_ratio=0.2, lost_in_network=1.0)

    every = {f"{method}-{name}" for method in ("n2n", "e2e") for name in ("lost", "received", "cache")}
    assert held("diffusion", better) == every

    def once_not(case: Case) -> Indices:
        indices = better(case)
        odd = case.method == "n2n" and case.load == 0.6 and case.tcp == "cubic" and case.diffusion
        return (
            replace(indices, reception_mbps=10.0, cache_ratio=0.5, lost_in_network=500.0) if odd else indices
        )

    assert held("diffusion", once_not) == {name for name in every if name.startswith("e2e")}
    assert not held("diffusion", lambda _: NOTHING), "nothing lost alone: nothing to compare with"


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.slow
@pytest.mark.parametrize("quick", [True, False])
def test_findings_have_notes(name: str, quick: bool) -> None:
    made = points(name, as_the_paper_says, quick=quick)
    assert all(claim.note for claim in STUDIES[name].judge(made) if claim.paper == "beyond the paper")
