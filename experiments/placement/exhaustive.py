"""The best placement by trying all: for small networks only, and independent of the methods it judges."""

from collections.abc import Callable, Iterator
from itertools import combinations, product

from groupflow.placement.costs import completion_time, connections, link_bytes
from groupflow.placement.layout import nearest
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


def best_on_tree(problem: Problem, objective: Objective) -> float:
    """Least cost over all ways to cut a tree of switches into cells with one agent each."""
    cost = cost_of(problem, objective)
    return min(cost(overlay) for overlay in (None, *_cells(problem)))


def best_by_overlays(problem: Problem, objective: Objective) -> float:
    """Least cost over all sets of agents, all trees of them and all ways to serve the hosts."""
    cost = cost_of(problem, objective)
    return min(cost(overlay) for overlay in (None, *_overlays(problem)))


def _agents(problem: Problem) -> Iterator[tuple[int, ...]]:
    for count in range(1, problem.budget + 1):
        yield from combinations(problem.candidates, count)


def _cells(problem: Problem) -> Iterator[Overlay]:
    links = [pair for pair in problem.routes.links if pair[0] < pair[1]]
    for count in range(min(problem.budget, len(links) + 1)):
        for cut in combinations(links, count):
            cell = _components(len(problem.routes), [pair for pair in links if pair not in cut])
            choices = [[s for s in problem.candidates if cell[s] == name] for name in sorted(set(cell))]
            for agents in product(*choices):
                agent = {cell[switch]: switch for switch in agents}
                yield Overlay(
                    edges=tuple((agent[cell[one]], agent[cell[other]]) for one, other in cut),
                    serving={host: agent[cell[problem.switch_of(host)]] for host in _hosts(problem)},
                    agents=agents,
                )


def _overlays(problem: Problem) -> Iterator[Overlay]:
    hosts = _hosts(problem)
    for agents in _agents(problem):
        for edges in _spanning_trees(agents):
            for serving in product(agents, repeat=len(hosts)):
                yield Overlay(edges, dict(zip(hosts, serving, strict=True)), agents)


def _spanning_trees(nodes: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    for edges in combinations(combinations(nodes, 2), len(nodes) - 1):
        place = {node: number for number, node in enumerate(nodes)}
        if len(set(_components(len(nodes), [(place[a], place[b]) for a, b in edges]))) == 1:
            yield edges


def _components(count: int, links: list[tuple[int, int]]) -> list[int]:
    """For each node, the lowest node that it is connected with."""
    lowest = list(range(count))
    changed = True
    while changed:
        changed = False
        for one, other in links:
            if lowest[one] != lowest[other]:
                lowest[one] = lowest[other] = min(lowest[one], lowest[other])
                changed = True
    return lowest


def _hosts(problem: Problem) -> list[int]:
    return sorted({*problem.senders, *problem.members})
