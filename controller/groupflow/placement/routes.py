"""Shortest paths between switches, by number: the routes that the controller installs, hop by hop."""

from typing import NamedTuple

from groupflow.model.topology import LinkSpec, Topology


class PathTree(NamedTuple):
    """Shortest paths from one switch. Lists by switch; -1 where there is no path."""

    hops: list[int]
    delay_ns: list[int]
    first: list[int]
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

    def __len__(self) -> int:
        return len(self.names)

    def tree(self, root: int) -> PathTree:
        """The paths from `root`, computed once."""
        if root not in self._trees:
            self._trees[root] = self._search(root)
        return self._trees[root]

    def path(self, start: int, goal: int) -> tuple[int, ...]:
        """The switches that a packet visits, both ends included; there must be a path."""
        path = [start]
        while path[-1] != goal:
            path.append(self.tree(path[-1]).first[goal])
        return tuple(path)

    def _search(self, root: int) -> PathTree:
        """Breadth-first: a switch's parent is the one in the layer before with least delay, then name."""
        hops, delay, first = tree = PathTree(*([-1] * len(self) for _ in range(3)))
        hops[root], delay[root], first[root] = 0, 0, root
        layer = [root]
        while layer:
            below: dict[int, tuple[int, int]] = {}
            for switch in layer:
                for neighbour in self.neighbours[switch]:
                    if hops[neighbour] < 0:
                        way = delay[switch] + self.links[switch, neighbour].delay_ns, switch
                        below[neighbour] = min(way, below.get(neighbour, way))
            for switch, (through, parent) in below.items():
                hops[switch], delay[switch] = hops[parent] + 1, through
                first[switch] = switch if parent == root else first[parent]
            layer = list(below)
        return tree
