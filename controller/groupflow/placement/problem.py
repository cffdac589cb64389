"""A placement problem, checked: senders, members, candidates, number of agents; and its solution."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from groupflow.errors import InvalidError
from groupflow.model.topology import LinkSpec, Topology
from groupflow.placement.routes import Routes

Path: TypeAlias = tuple[tuple[tuple[int, int], LinkSpec], ...]
"""Links, each with its two ends in the direction of the data."""

DEFAULT_SIZE_BYTES = 5_000_000
"""the transfer of Emina et al. 2011, Table I"""


@dataclass(frozen=True)
class Problem:
    """A problem. Nodes are numbers: switches as in `routes`, hosts after them. Made by `Problem.read`."""

    routes: Routes
    senders: tuple[int, ...]
    """hosts, each once"""
    members: tuple[int, ...]
    """hosts that receive from every sender but themselves; one with two receiving programs is here twice"""
    candidates: tuple[int, ...]
    """switches that may have an agent, ascending"""
    budget: int
    """the most agents"""
    size_bytes: int
    hosts: tuple[str, ...]
    home: tuple[int, ...] = field(repr=False)
    """the switch of each host"""
    access: tuple[LinkSpec, ...] = field(repr=False)
    """the link of each host to its switch"""
    _paths: "dict[tuple[int, int], Path]" = field(
        default_factory=dict["tuple[int, int]", "Path"], repr=False, compare=False
    )

    @staticmethod
    def read(
        topology: Topology,
        senders: str | Sequence[str],
        members: Iterable[str],
        budget: int,
        *,
        candidates: Iterable[str] | None = None,
        size_bytes: int = DEFAULT_SIZE_BYTES,
    ) -> "Problem":
        """The problem for names of a topology. Raises InvalidError."""
        routes = Routes(topology)
        sending = tuple(dict.fromkeys([senders] if isinstance(senders, str) else senders))
        receiving = tuple(members)
        names = tuple(dict.fromkeys((*sending, *receiving)))
        _check_hosts(topology, routes, names)
        if not sending:
            raise InvalidError("no sender given; name one host or more")
        if all(host == sender for sender in sending for host in receiving):
            raise InvalidError("no member to send to; name a host besides the sender")
        allowed = _candidates(routes, routes.number[topology.hosts[sending[0]].switch], candidates)
        if budget < 0:
            raise InvalidError(f"{budget} agents cannot be placed; give 0 or more")
        if budget > len(allowed):
            raise InvalidError(
                f"{budget} agents are more than the {len(allowed)} switches that may have one; give fewer"
            )
        if size_bytes < 1:
            raise InvalidError(f"a transfer of {size_bytes} bytes is empty; give 1 or more")
        number = {name: len(routes) + i for i, name in enumerate(names)}
        return Problem(
            routes=routes,
            senders=tuple(number[name] for name in sending),
            members=tuple(number[name] for name in receiving),
            candidates=allowed,
            budget=budget,
            size_bytes=size_bytes,
            hosts=names,
            home=tuple(routes.number[topology.hosts[name].switch] for name in names),
            access=tuple(topology.link_between(topology.hosts[name].switch, name).spec for name in names),
        )

    def switch_of(self, node: int) -> int:
        """The switch of a node; a switch is its own."""
        return node if node < len(self.routes) else self.home[node - len(self.routes)]

    def name(self, node: int) -> str:
        switches = len(self.routes)
        return self.routes.names[node] if node < switches else self.hosts[node - switches]

    def receivers(self, sender: int) -> tuple[int, ...]:
        """The members that get a sender's stream."""
        return tuple(member for member in self.members if member != sender)

    def weights(self) -> dict[int, int]:
        """Connections between each host and its agent: for its own stream, and for those it receives."""
        weights = dict.fromkeys(self.senders, 1)
        for member in self.members:
            streams = len(self.senders) - (member in self.senders)
            weights[member] = weights.get(member, 0) + streams
        return weights

    def path(self, start: int, end: int) -> Path:
        """The links from node to node."""
        if (start, end) in self._paths:
            return self._paths[start, end]
        first, last = self.switch_of(start), self.switch_of(end)
        found = [(ends, self.routes.links[ends]) for ends in pairwise(self.routes.path(first, last))]
        if start != first:
            found.insert(0, ((start, first), self.access[start - len(self.routes)]))
        if end != last:
            found.append(((last, end), self.access[end - len(self.routes)]))
        return self._paths.setdefault((start, end), tuple(found))


@dataclass(frozen=True)
class Overlay:
    """The connections of agents, senders and members: a tree without direction that all streams use.

    A sender's stream enters by the agent that serves it, goes over the tree to every agent, and from each to
    the members that it serves. Without agents each sender has one connection to each member.
    """

    edges: tuple[tuple[int, int], ...]
    """pairs of joined agents, the lower first: one fewer than agents"""
    serving: dict[int, int]
    """the agent (a switch) of each sender and member"""
    agents: tuple[int, ...]
    """switches, ascending"""


def _check_hosts(topology: Topology, routes: Routes, names: Sequence[str]) -> None:
    reached: Sequence[int] | None = None
    for name in names:
        if name not in topology.hosts:
            what = "a switch, not a host" if name in topology.switches else "no host of this network"
            raise InvalidError(f"{name!r} is {what}; there are {_some(sorted(topology.hosts))}")
        switch = routes.number[topology.hosts[name].switch]
        reached = reached or routes.tree(switch).hops
        if reached[switch] < 0:
            raise InvalidError(f"no path from {names[0]} to {name}; link their switches")


def _candidates(routes: Routes, start: int, names: Iterable[str] | None) -> tuple[int, ...]:
    """The reachable switches among those that may have an agent. Raises InvalidError."""
    chosen = routes.names if names is None else tuple(names)
    for name in chosen:
        if name not in routes.number:
            raise InvalidError(f"no switch {name!r}; there are {_some(routes.names)}")
    reached = routes.tree(start).hops
    return tuple(sorted({number for name in chosen if reached[number := routes.number[name]] >= 0}))


def _some(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
