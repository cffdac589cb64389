"""Fewest link bytes on a tree of switches, exactly, by dynamic programming.

The tree is cut into at most k *cells*, connected parts with one agent each. A switch v at d(v) hops from
its cell's agent pays d(v) for each connection of its hosts; a cut link u-v pays d(u) + 1 + d(v) for each
stream that crosses it. For one sender, cells by the nearest agent make that sum the link crossings of
`layout.nearest` [1], and no other cells make it smaller: the least sum over all cells is the least number of
link crossings over all sets of agents.

From the leaves up, for each switch v, each number j of agents in v's subtree, and each distance d:
- `outside[j, d]`: least cost in the subtree if v's agent is d hops away and outside the subtree;
- `inside[j, d]`: the same if the agent is inside the subtree.

Children are joined one by one, a (min, +) convolution over j. With n switches and diameter D: O(n k^2 D)
time.

[1] The links between Voronoi cells of terminals hold a minimum spanning tree of them (Mehlhorn, Inf.
Process. Lett. 27(3), 1988); in a tree, contracting the cells leaves a tree, so all of these links belong to
it.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from groupflow.placement.problem import Overlay, Problem
from groupflow.placement.rooted import RootedTree, overlay

Table: TypeAlias = NDArray[np.int32]
"""costs in link crossings, by number of agents and by distance"""
Choice: TypeAlias = NDArray[np.int16]

_NEVER = 1 << 29
"""more than any cost; the sum of two still fits 32 bits"""


@dataclass
class _Joined:
    """The choices made when a child was joined to its parent, by agents so far and the parent's distance."""

    child: int
    outside: Choice
    """agents in the child's subtree, when the parent's agent is in none of the children so far"""
    inside: Choice
    """the same, when that agent is in one of them: negative (-1 - agents) where it is in this child"""
    cut: NDArray[np.bool_]
    """whether the link is cut, by agents in the child's subtree and the parent's distance"""
    cell: Choice
    """distance of the child's own agent if the link is cut, by agents in the child's subtree"""


@dataclass
class _Walk:
    problem: Problem
    tree: RootedTree
    candidates: frozenset[int]
    most: int
    """number of agents"""
    width: int
    """number of distances: 0 to width - 1"""
    joined: dict[int, list[_Joined]] = field(default_factory=dict[int, list[_Joined]])


def fewest_bytes(problem: Problem, tree: RootedTree, most: int) -> list[Overlay]:
    """The best overlays with at most 1, 2, ... `most` agents.

    Exact where the tree is the network; elsewhere the best among connections that follow the tree.
    """
    walk = _Walk(problem, tree, frozenset(problem.candidates), most, _diameter(tree) + 1)
    weights = _weights(problem)
    streams = _streams(problem, tree)
    tables: dict[int, tuple[Table, Table]] = {}
    for switch in tree.order:
        tables[switch] = _solve(walk, switch, weights.get(switch, 0), streams, tables)
    inside = tables[tree.root][1]
    found: list[Overlay] = []
    best = _NEVER
    for agents in range(1, most + 1):
        cost, distance = _NEVER, 0
        if agents < len(inside):
            distance = int(np.argmin(inside[agents]))
            cost = int(inside[agents, distance])
        found.append(_trace(walk, agents, distance) if cost < best else found[-1])
        best = min(best, cost)
    return found


def _solve(
    walk: _Walk, switch: int, weight: int, streams: dict[int, int], tables: dict[int, tuple[Table, Table]]
) -> tuple[Table, Table]:
    """`outside` and `inside` of a switch; frees those of its children."""
    outside = np.zeros((1, walk.width), np.int32)
    inside = np.full((1, walk.width), _NEVER, np.int32)
    steps = walk.joined[switch] = []
    for child in walk.tree.children[switch]:
        child_outside, child_inside = tables.pop(child)
        away, cut, cell = _seen_from_above(child_outside, child_inside, streams[child])
        here = np.full_like(child_inside, _NEVER)
        here[:, 1:] = child_inside[:, :-1]
        with_here, took_here = _join(outside, here, walk.most)
        with_earlier, took_earlier = _join(inside, away, walk.most)
        better = with_here < with_earlier
        inside = np.where(better, with_here, with_earlier)
        outside, took = _join(outside, away, walk.most)
        steps.append(_Joined(child, took, np.where(better, -1 - took_here, took_earlier), cut, cell))
    if switch in walk.candidates:
        own = outside[: walk.most, 0]  # as the children of a switch with an agent
        rows = max(len(inside), len(own) + 1)
        inside = np.vstack((inside, np.full((rows - len(inside), walk.width), _NEVER, np.int32)))
        inside[1 : len(own) + 1, 0] = own
    distance = np.arange(walk.width, dtype=np.int32) * weight
    return np.minimum(outside + distance, _NEVER), np.minimum(inside + distance, _NEVER)


def _seen_from_above(outside: Table, inside: Table, streams: int) -> tuple[Table, NDArray[np.bool_], Choice]:
    """A child's least cost by its parent's distance, when the parent's agent is not in the child's subtree.

    Also whether the link is cut for that cost, and the distance of the child's own agent then.
    """
    rows, width = max(len(outside), len(inside)), outside.shape[1]
    steps = streams * np.arange(width + 1, dtype=np.int32)
    whole = np.full((rows, width), _NEVER, np.int32)
    whole[: len(outside), :-1] = outside[:, 1:]
    crossing = np.full((rows, width), _NEVER, np.int32)
    crossing[: len(inside)] = np.minimum(inside + steps[:-1], _NEVER)
    cell = crossing.argmin(axis=1).astype(np.int16)
    apart = crossing.min(axis=1, keepdims=True) + steps[1:]
    return np.minimum(np.minimum(whole, apart), _NEVER), apart < whole, cell


def _join(left: Table, right: Table, most: int) -> tuple[Table, Choice]:
    """Least sums for each number of agents in both together, and the number of them at the right."""
    rows = min(len(left) + len(right) - 1, most + 1)
    least = np.full((rows, left.shape[1]), _NEVER, np.int32)
    took = np.zeros(least.shape, np.int16)
    pairs = [
        (agents, slice(agents, min(rows, agents + len(left)))) for agents in range(min(len(right), rows))
    ]
    for agents, where in pairs:
        cost = left[: where.stop - agents] + right[agents]
        less = cost < least[where]
        least[where][less] = cost[less]
        took[where][less] = agents
    return least, took


def _trace(walk: _Walk, agents: int, distance: int) -> Overlay:
    """The overlay that has the cost found at the root."""
    chosen: set[int] = set()
    cuts: set[int] = set()
    todo = [(walk.tree.root, True, agents, distance)]
    while todo:
        switch, inside, left, away = todo.pop()
        if inside and away == 0:
            chosen.add(switch)
            inside, left = False, left - 1
        for step in reversed(walk.joined[switch]):
            took = int((step.inside if inside else step.outside)[left, away])
            if took < 0:
                took, inside = -1 - took, False
                todo.append((step.child, True, took, away - 1))
            elif step.cut[took, away]:
                cuts.add(step.child)
                todo.append((step.child, True, took, int(step.cell[took])))
            else:
                todo.append((step.child, False, took, away + 1))
            left -= took
    return overlay(walk.problem, walk.tree, chosen, cuts)


def _weights(problem: Problem) -> dict[int, int]:
    """Connections between each switch's hosts and their agent."""
    weights: dict[int, int] = {}
    for host, count in problem.weights().items():
        switch = problem.switch_of(host)
        weights[switch] = weights.get(switch, 0) + count
    return weights


def _streams(problem: Problem, tree: RootedTree) -> dict[int, int]:
    """Streams that cross each switch's link upwards if it is cut: those with a receiver at the other side."""
    crossing = dict.fromkeys(tree.parent, 0)
    for sender in problem.senders:
        receivers = dict.fromkeys(tree.children, 0)
        for member in problem.receivers(sender):
            receivers[problem.switch_of(member)] += 1
        sending = {problem.switch_of(sender)}
        everyone = sum(receivers.values())
        for switch in tree.order[:-1]:
            above = tree.parent[switch]
            receivers[above] += receivers[switch]
            if switch in sending:
                sending.add(above)
                crossing[switch] += receivers[switch] < everyone
            else:
                crossing[switch] += receivers[switch] > 0
    return crossing


def _diameter(tree: RootedTree) -> int:
    """Hops between the two switches farthest apart."""
    height = dict.fromkeys(tree.children, 0)
    longest = 0
    for switch in tree.order[:-1]:
        above = tree.parent[switch]
        longest = max(longest, height[above] + height[switch] + 1)
        height[above] = max(height[above], height[switch] + 1)
    return longest
