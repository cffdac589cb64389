"""The best placement by trying all: for small networks only, and independent of the methods it judges."""

from collections.abc import Callable, Iterator
from itertools import combinations, product

from groupflow.placement.choose import nearest
from groupflow.placement.costs import completion_time, connections, link_bytes
from groupflow.placement.problem import Objective, Overlay, Problem

Cost = Callable[[Overlay | None], float]


def cost_of(problem: Problem, objective: Objective) -> Cost:
    """The objective as a function of an overlay; None: no agents."""
    measure = link_bytes if objective == "bytes" else completion_time
    return lambda overlay: measure(problem, connections(problem, overlay))


def best_by_agents(problem: Problem, objective: Objective) -> float:
    """Least cost over all sets of agents, each joined by the nearest rule."""
    cost = cost_of(problem, objective)
    return min([cost(None), *(cost(nearest(problem, agents)) for agents in _agents(problem))])


def best_by_overlays(problem: Problem, objective: Objective) -> float:
    """Least cost over all sets of agents, all trees of them and all ways to serve the hosts."""
    cost = cost_of(problem, objective)
    return min(cost(overlay) for overlay in (None, *_overlays(problem)))


def _agents(problem: Problem) -> Iterator[tuple[int, ...]]:
    for count in range(1, problem.budget + 1):
        yield from combinations(problem.candidates, count)


def _overlays(problem: Problem) -> Iterator[Overlay]:
    hosts = hosts_of(problem)
    for agents in _agents(problem):
        for edges in _spanning_trees(agents):
            for serving in product(agents, repeat=len(hosts)):
                yield Overlay(edges, dict(zip(hosts, serving, strict=True)), agents)


def _spanning_trees(nodes: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    for edges in combinations(combinations(nodes, 2), len(nodes) - 1):
        place = {node: number for number, node in enumerate(nodes)}
        if len(set(components(len(nodes), [(place[a], place[b]) for a, b in edges]))) == 1:
            yield edges


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
