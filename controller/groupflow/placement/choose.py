"""The placement for a problem, found by search."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from groupflow.model.topology import Topology
from groupflow.placement.costs import completion_time, connections, link_bytes
from groupflow.placement.problem import DEFAULT_SIZE_BYTES, Overlay, Problem
from groupflow.placement.search_bytes import few_bytes


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
        above = best.pop(agent)[2]
        edges.append((min(above, agent), max(above, agent)))
        for other in best:
            best[other] = min(best[other], (*_distance(problem, agent, other), agent))
    return tuple(edges)


def _distance(problem: Problem, one: int, other: int) -> tuple[int, int]:
    tree = problem.routes.tree(one)
    return tree.hops[other], tree.delay_ns[other]


@dataclass(frozen=True)
class NamedConnection:
    """A TCP connection of a sender's stream, from a host or an agent's switch to another."""

    sender: str
    start: str
    end: str


@dataclass(frozen=True)
class Placement:
    """Switches of the agents, the connections between them, and the cost of one transfer (see `costs`)."""

    __pydantic_config__ = {"use_attribute_docstrings": True}  # noqa: RUF012 (of the REST API)
    agents: tuple[str, ...]
    """switches, by name; the fewest at that cost, none where unicast is as good"""
    connections: tuple[NamedConnection, ...]
    """ordered, each after the connection that feeds it"""
    link_bytes: int
    """bytes on all links together, for one transfer of each sender"""
    seconds: float
    """time until the last member has the last byte, end-to-end"""


def choose(
    topology: Topology,
    senders: str | Sequence[str],
    members: Iterable[str],
    k: int,
    *,
    candidates: Iterable[str] | None = None,
    size_bytes: int = DEFAULT_SIZE_BYTES,
) -> Placement:
    """The best placement found of at most `k` agents, always the same for the same problem.

    `senders` and `members` are hosts; a member gets the streams of all senders but itself. `candidates`: the
    switches that may have an agent (default: all). More agents never cost more. Raises InvalidError.
    """
    problem = Problem.read(topology, senders, members, k, candidates=candidates, size_bytes=size_bytes)
    return curve(problem)[-1]


def curve(problem: Problem) -> list[Placement]:
    """The placements with at most 0, 1, ... `problem.budget` agents."""
    found = [_priced(problem, None)]
    for agents in few_bytes(problem) if problem.budget else ():
        # Cheapest first, then fewest agents.
        options = found[-1], _priced(problem, nearest(problem, agents))
        found.append(min(options, key=lambda placement: (placement.link_bytes, len(placement.agents))))
    return found


def _priced(problem: Problem, overlay: Overlay | None) -> Placement:
    carried = connections(problem, overlay)
    used = {node for connection in carried for node in (connection.start, connection.end)}
    return Placement(
        agents=tuple(sorted(problem.name(node) for node in used if node < len(problem.routes))),
        connections=tuple(
            NamedConnection(problem.name(c.sender), problem.name(c.start), problem.name(c.end))
            for c in carried
        ),
        link_bytes=link_bytes(problem, carried),
        seconds=completion_time(problem, carried),
    )
