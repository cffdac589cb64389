"""On small trees the placement is the best: measured, not proved, so these draws are always the same."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings

from experiments.placement import exhaustive, networks
from experiments.placement.study import cost, question
from groupflow.placement import Objective, Problem, curve
from tests.unit.placement.questions import problems, trees


@pytest.mark.slow
@settings(max_examples=100, deadline=None, derandomize=True)
@given(problems(trees(switches=6, hosts=6), agents=4, senders=3))
def test_link_bytes_are_least(problem: Problem) -> None:
    """With one sender, joining each host to its nearest agent costs no more than any other way."""
    found = cost(curve(problem, "bytes")[-1])
    assert found == exhaustive.best_by_agents(problem, "bytes")
    if len(problem.senders) == 1:
        assert found == exhaustive.best_on_tree(problem, "bytes")


@pytest.mark.slow
@settings(max_examples=100, deadline=None, derandomize=True)
@given(problems(trees(switches=6, hosts=6), agents=4))
def test_completion_time_is_least(problem: Problem) -> None:
    found = cost(curve(problem, "time")[-1])
    assert found == pytest.approx(exhaustive.best_on_tree(problem, "time"), rel=1e-12)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(problems(trees(switches=4, hosts=4), agents=3))
def test_no_overlay_of_another_shape_is_faster(problem: Problem) -> None:
    """Cells need not be connected in general; on small trees nothing is gained by that."""
    assert cost(curve(problem, "time")[-1]) <= exhaustive.best_by_overlays(problem, "time") * (1 + 1e-12)


@pytest.mark.parametrize("objective", ["bytes", "time"])
def test_all_trees_of_four_switches(objective: Objective) -> None:
    """Every one of the 16 labelled trees (from its Prüfer sequence), with members everywhere."""
    for sequence in product(range(4), repeat=2):
        links = networks.tree_of(sequence)
        topology = networks.plain(links, (0, 1, 2, 2, 3))
        for agents in (1, 2, 3, 4):
            problem = question(topology, 1, agents)
            found = cost(curve(problem, objective)[-1])
            assert found == pytest.approx(exhaustive.best_on_tree(problem, objective), rel=1e-12)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(problems(trees(switches=9, hosts=9), agents=6, senders=2))
def test_more_agents_never_cost_more(problem: Problem) -> None:
    for objective in ("bytes", "time"):
        costs = [cost(placement) for placement in curve(problem, objective)]
        assert costs == sorted(costs, reverse=True)
