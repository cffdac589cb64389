"""The best placement by trying all: for small networks only, and independent of the methods it judges."""

from collections.abc import Callable, Iterator
from itertools import combinations

from groupflow.placement.choose import nearest
from groupflow.placement.costs import connections, link_bytes
from groupflow.placement.problem import Overlay, Problem

Cost = Callable[[Overlay | None], float]


def cost_of(problem: Problem) -> Cost:
    """The link bytes as a function of an overlay; None: no agents."""
    return lambda overlay: link_bytes(problem, connections(problem, overlay))


def best_by_agents(problem: Problem) -> float:
    """Least cost over all sets of agents, each joined by the nearest rule."""
    cost = cost_of(problem)
    return min([cost(None), *(cost(nearest(problem, agents)) for agents in _agents(problem))])


def _agents(problem: Problem) -> Iterator[tuple[int, ...]]:
    for count in range(1, problem.budget + 1):
        yield from combinations(problem.candidates, count)


def components(count: int, links: list[tuple[int, int]]) -> list[int]:
    """The lowest node that each node is connected with."""
    lowest = list(range(count))
    changed = True
    while changed:
        changed = False
        for one, other in links:
            if lowest[one] != lowest[other]:
                lowest[one] = lowest[other] = min(lowest[one], lowest[other])
                changed = True
    return lowest


def hosts_of(problem: Problem) -> list[int]:
    return sorted({*problem.senders, *problem.members})
