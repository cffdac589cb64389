"""Few link bytes on any network: adds one agent at a time, then moves single agents while that helps.

Choosing agents well is hard in general: with as many agents as switches it is the Steiner tree problem. The
sets that are compared here cost, in link crossings,

    streams * MST(agents) + sum over hosts of connections * hops to the nearest agent

which is the cost of `choose.nearest` for one sender. MST is the length of a minimum spanning tree, in hops.
For each number of agents, start from the set before with the best agent added. Then replace one agent by the
best other switch, until no replacement helps. With n switches, H hosts, k agents: O(k^2 n (H + k^2)) time a
round of replacements.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from groupflow.placement.problem import Problem

Floats: TypeAlias = NDArray[np.float64]

_ROUNDS = 50
"""bound of the rounds of replacements: more than were ever needed, so that time is bounded"""


class _Distances:
    """Hops between candidates, and from candidates to the switches of hosts, as whole numbers in floats."""

    def __init__(self, problem: Problem) -> None:
        self.candidates = problem.candidates
        weights: dict[int, int] = {}
        for host, connections in problem.weights().items():
            switch = problem.switch_of(host)
            weights[switch] = weights.get(switch, 0) + connections
        hops = np.array([problem.routes.tree(switch).hops for switch in self.candidates], np.float64)
        homes = sorted(weights)
        self.between: Floats = len(problem.senders) * hops[:, list(self.candidates)]
        self.to_hosts: Floats = hops[:, homes]
        self.weights: Floats = np.array([weights[home] for home in homes], np.float64)

    def cost(self, agents: Sequence[int]) -> float:
        """Link crossings of a set of agents, given by their places in `candidates`."""
        return float(self.with_one_more(agents[1:])[agents[0]])

    def with_one_more(self, agents: Sequence[int]) -> Floats:
        """Link crossings of the set with each candidate added, by candidate."""
        nearest = self.to_hosts
        if agents:
            nearest = np.minimum(nearest, self.to_hosts[list(agents)].min(axis=0))
        return nearest @ self.weights + self._spanning(agents)

    def _spanning(self, agents: Sequence[int]) -> Floats:
        """Length of a minimum spanning tree of the set and each candidate: Prim's, from all at once."""
        chosen = list(agents)
        among = self.between[np.ix_(chosen, chosen)]
        away = self.between[:, chosen].copy()
        rows = np.arange(len(away))
        total: Floats = np.zeros(len(away))
        for _ in chosen:
            following = away.argmin(axis=1)
            total += away[rows, following]
            np.minimum(away, among[following], out=away, where=np.isfinite(away))
            away[rows, following] = np.inf
        return total


def few_bytes(problem: Problem) -> list[tuple[int, ...]]:
    """A set of 1, 2, ... `problem.budget` agents: switches, ascending."""
    distances = _Distances(problem)
    agents: list[int] = []
    found: list[tuple[int, ...]] = []
    for _ in range(problem.budget):
        added = [*agents, _cheapest(distances.with_one_more(agents), agents)]
        agents = _replace(distances, added)
        found.append(tuple(sorted(problem.candidates[number] for number in agents)))
    return found


def _replace(distances: _Distances, agents: list[int]) -> list[int]:
    cost = distances.cost(agents)
    for _ in range(_ROUNDS):
        before = cost
        for agent in list(agents):
            others = [other for other in agents if other != agent]
            costs = distances.with_one_more(others)
            better = _cheapest(costs, others)
            if costs[better] < cost:
                agents, cost = [*others, better], float(costs[better])
        if cost == before:
            break
    return agents


def _cheapest(costs: Floats, agents: Sequence[int]) -> int:
    """The first of the cheapest candidates that are not agents yet."""
    costs = costs.copy()
    costs[list(agents)] = np.inf
    return int(costs.argmin())
