"""Given the agents, how to join them: each host to its nearest agent, agents by a minimum spanning tree.

For one sender, no other way to connect all of these agents costs fewer link bytes.
"""

from collections.abc import Sequence

from groupflow.placement.problem import Overlay, Problem, edge


def nearest(problem: Problem, agents: Sequence[int]) -> Overlay:
    """The overlay of nearest agents by hops, then delay, then name. `agents`: switches, at least one."""
    chosen = tuple(sorted(agents))
    serving = {
        host: min(chosen, key=lambda agent: (*_distance(problem, agent, problem.switch_of(host)), agent))
        for host in {*problem.senders, *problem.members}
    }
    return Overlay(edges=_spanning_tree(problem, chosen), serving=serving, agents=chosen)


def _spanning_tree(problem: Problem, agents: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Edges of a minimum spanning tree over the agents, by Prim's algorithm."""
    root, *rest = agents
    best = {agent: (*_distance(problem, root, agent), root) for agent in rest}
    edges: list[tuple[int, int]] = []
    while best:
        agent = min(best, key=lambda agent: (best[agent], agent))
        edges.append(edge(best.pop(agent)[2], agent))
        for other in best:
            best[other] = min(best[other], (*_distance(problem, agent, other), agent))
    return tuple(edges)


def _distance(problem: Problem, one: int, other: int) -> tuple[int, int]:
    tree = problem.routes.tree(one)
    return tree.hops[other], tree.delay_ns[other]
