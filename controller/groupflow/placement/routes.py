"""Shortest paths between switches, by number: the routes that the controller installs, hop by hop."""

from collections.abc import Sequence
from dataclasses import dataclass

from groupflow.model.topology import LinkSpec, Topology


@dataclass(frozen=True)
class PathTree:
    """Shortest paths from one switch. Lists by switch; -1 where there is no path."""

    hops: Sequence[int]
    delay_ns: Sequence[int]
    parent: Sequence[int]
    """the switch before each switch; the root's is the root"""
    first: Sequence[int]
    """the root's next hop towards each switch; the root's is the root"""


class Routes:
    """Switches numbered in the order of their names, links without direction, and paths on demand.

    Paths are Topology.path's: fewest hops, then least delay, then names. A packet is forwarded hop by hop, so
    each switch decides by its own tree: equally good paths may differ between trees, hops and delay do not.
    """

    def __init__(self, topology: Topology) -> None:
        self.names = tuple(sorted(topology.switches))
        self.number = {name: number for number, name in enumerate(self.names)}
        self.links: dict[tuple[int, int], LinkSpec] = {}
        """both directions of each link between switches; of parallel links, the one that carries traffic"""
        for link in topology.links:
            one, other = self.number.get(link.a.node), self.number.get(link.b.node)
            if one is not None and other is not None:
                self.links.setdefault((one, other), link.spec)
                self.links.setdefault((other, one), link.spec)
        near: list[list[int]] = [[] for _ in self.names]
        for one, other in sorted(self.links):
            near[one].append(other)
        self.neighbours = tuple(tuple(switches) for switches in near)
        self._trees: dict[int, PathTree] = {}
        self._paths: dict[tuple[int, int], tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self.names)

    def tree(self, root: int) -> PathTree:
        """The paths from `root`, computed once."""
        if root not in self._trees:
            self._trees[root] = self._search(root)
        return self._trees[root]

    def path(self, start: int, goal: int) -> tuple[int, ...]:
        """The switches that a packet visits, both ends included. Raises ValueError when there is no path."""
        known = self._paths.get((start, goal))
        if known is None:
            if self.tree(start).hops[goal] < 0:
                raise ValueError(f"no path from {self.names[start]} to {self.names[goal]}")
            rest = () if start == goal else self.path(self.tree(start).first[goal], goal)
            known = self._paths[start, goal] = (start, *rest)
        return known

    def _search(self, root: int) -> PathTree:
        """Breadth-first: a switch's parent is the one in the layer before with least delay, then name."""
        count = len(self)
        hops, delay, parent, first = [-1] * count, [-1] * count, [-1] * count, [-1] * count
        hops[root], delay[root], parent[root], first[root] = 0, 0, root, root
        layer = [root]
        while layer:
            below: list[int] = []
            for switch in layer:
                for neighbour in self.neighbours[switch]:
                    through = delay[switch] + self.links[switch, neighbour].delay_ns
                    if hops[neighbour] < 0:
                        hops[neighbour] = hops[switch] + 1
                        below.append(neighbour)
                    elif hops[neighbour] != hops[switch] + 1 or (through, switch) >= (
                        delay[neighbour],
                        parent[neighbour],
                    ):
                        continue
                    delay[neighbour], parent[neighbour] = through, switch
            for switch in below:
                first[switch] = switch if parent[switch] == root else first[parent[switch]]
            layer = below
        return PathTree(hops, delay, parent, first)
