"""On small trees the placement is the best: measured, not proved, so these draws are always the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import pytest
from hypothesis import given, settings

from groupflow.placement import Problem, curve
from groupflow.placement.problem import Overlay
from tests.unit.placement import exhaustive, networks
from tests.unit.placement.questions import best, problems, question, trees


@pytest.mark.slow
@settings(max_examples=100, derandomize=True)
@given(problems(trees(switches=6, hosts=6), agents=4, senders=3))
def test_link_bytes_are_least(problem: Problem) -> None:
    """With one sender, joining each host to its nearest agent costs no more than any other way."""
    found = best(problem)
    assert found == exhaustive.best_by_agents(problem)
    if len(problem.senders) == 1:
        assert found == best_on_tree(problem)


@pytest.mark.slow
def test_all_trees_of_four_switches() -> None:
    """Every one of the 16 labelled trees (from its Prüfer sequence), with members everywhere."""
    for sequence in product(range(4), repeat=2):
        links = networks.tree_of(sequence)
        topology = networks.plain(links, (0, 1, 2, 2, 3))
        for agents in (1, 2, 3, 4):
            problem = question(topology, 1, agents)
            assert best(problem) == best_on_tree(problem)


@pytest.mark.slow
@settings(max_examples=60)
@given(problems(trees(switches=9, hosts=9), agents=6, senders=2))
def test_more_agents_never_cost_more(problem: Problem) -> None:
    costs = [placement.link_bytes for placement in curve(problem)]
    assert costs == sorted(costs, reverse=True)


def best_on_tree(problem: Problem) -> float:
    """Least cost over all ways to cut a tree of switches into cells with one agent each."""
    cost = exhaustive.cost_of(problem)
    return min(cost(overlay) for overlay in (None, *_cells(problem)))


def _cells(problem: Problem) -> Iterator[Overlay]:
    links = [pair for pair in problem.routes.links if pair[0] < pair[1]]
    for count in range(min(problem.budget, len(links) + 1)):
        for cut in combinations(links, count):
            cell = exhaustive.components(len(problem.routes), [pair for pair in links if pair not in cut])
            choices = [[s for s in problem.candidates if cell[s] == name] for name in sorted(set(cell))]
            for agents in product(*choices):
                agent = {cell[switch]: switch for switch in agents}
                yield Overlay(
                    edges=tuple((agent[cell[one]], agent[cell[other]]) for one, other in cut),
                    serving={
                        host: agent[cell[problem.switch_of(host)]] for host in exhaustive.hosts_of(problem)
                    },
                    agents=agents,
                )
