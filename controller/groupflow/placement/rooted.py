"""A rooted tree of switches, for dynamic programming."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from groupflow.placement.problem import Overlay, Problem, edge


@dataclass(frozen=True)
class RootedTree:
    """The relevant part of a tree: the root, hosts' switches, candidates, and the switches between them."""

    root: int
    parent: dict[int, int]
    children: dict[int, tuple[int, ...]]
    order: tuple[int, ...]
    """switches, each before its parent"""


def is_tree(problem: Problem) -> bool:
    """Whether the reachable switches form a tree."""
    reached = [number for number, hops in enumerate(_root_hops(problem)) if hops >= 0]
    return sum(len(problem.routes.neighbours[switch]) for switch in reached) == 2 * (len(reached) - 1)


def shortest_path_tree(problem: Problem) -> RootedTree:
    """The first sender's shortest paths: the tree of its stream. The whole network, where that is a tree.

    Where any switch may have an agent, switches off all paths between hosts are left out: an agent there
    would do better where its branch leaves the paths.
    """
    root = problem.switch_of(problem.senders[0])
    return _hang(problem, root, problem.routes.tree(root).parent)


def overlay(problem: Problem, tree: RootedTree, agents: Collection[int], cuts: Collection[int]) -> Overlay:
    """Cells of the tree, each served by its agent; `cuts`: switches whose link upwards is cut."""
    cell: dict[int, int] = {}
    agent_of: dict[int, int] = {}
    for switch in reversed(tree.order):
        top = switch == tree.root or switch in cuts
        cell[switch] = switch if top else cell[tree.parent[switch]]
        if switch in agents:
            agent_of[cell[switch]] = switch
    return Overlay(
        edges=tuple(edge(agent_of[cell[tree.parent[cut]]], agent_of[cut]) for cut in sorted(cuts)),
        serving={
            host: agent_of[cell[problem.switch_of(host)]] for host in {*problem.senders, *problem.members}
        },
        agents=tuple(sorted(agents)),
    )


def _hang(problem: Problem, root: int, parents: Sequence[int]) -> RootedTree:
    ends = {problem.switch_of(host) for host in (*problem.senders, *problem.members)}
    if len(problem.candidates) < sum(parent >= 0 for parent in parents):
        ends.update(problem.candidates)
    parent: dict[int, int] = {}
    children: dict[int, list[int]] = {root: []}
    for end in sorted(ends):
        switch = end
        while switch not in children:
            children[switch] = []
            parent[switch] = parents[switch]
            switch = parents[switch]
    for switch, above in sorted(parent.items()):
        children[above].append(switch)
    order = [root]
    for switch in order:
        order += children[switch]
    found = {switch: tuple(below) for switch, below in children.items()}
    return RootedTree(root, parent, found, tuple(reversed(order)))


def _root_hops(problem: Problem) -> list[int]:
    return problem.routes.hops(problem.switch_of(problem.senders[0]))
