"""The placement for a problem: exact where the switches form a tree, searched for elsewhere."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from groupflow.network.topology import Topology
from groupflow.placement.costs import Connection, completion_time, connections, link_bytes
from groupflow.placement.layout import nearest
from groupflow.placement.problem import DEFAULT_SIZE_BYTES, Objective, Overlay, Problem
from groupflow.placement.rooted import RootedTree, is_tree, shortest_path_tree
from groupflow.placement.search_bytes import few_bytes
from groupflow.placement.search_time import short_time
from groupflow.placement.tree_bytes import fewest_bytes
from groupflow.placement.tree_time import least_time


@dataclass(frozen=True)
class NamedConnection:
    """A TCP connection of a sender's stream, from a host or an agent's switch to another."""

    sender: str
    start: str
    end: str


@dataclass(frozen=True)
class Placement:
    """Switches of the agents, the connections between them, and the cost of one transfer (see `costs`)."""

    objective: Objective
    agents: tuple[str, ...]
    """switches, by name; the fewest at that cost, none where unicast is as good"""
    connections: tuple[NamedConnection, ...]
    """ordered, each after the connection that feeds it"""
    link_bytes: int
    seconds: float
    """completion time, E2E"""
    exact: bool
    """whether no placement with as many agents is better, as far as `tree_bytes` and `tree_time` say"""


def choose(
    topology: Topology,
    senders: str | Sequence[str],
    members: Iterable[str],
    k: int,
    *,
    objective: Objective = "bytes",
    candidates: Iterable[str] | None = None,
    size_bytes: int = DEFAULT_SIZE_BYTES,
) -> Placement:
    """The best placement found of at most `k` agents, always the same for the same problem.

    `senders` and `members` are hosts; a member gets the streams of all senders but itself. `candidates`: the
    switches that may have an agent (default: all). More agents never cost more. Raises PlacementError.
    """
    problem = Problem.read(topology, senders, members, k, candidates=candidates, size_bytes=size_bytes)
    return curve(problem, objective)[-1]


def curve(problem: Problem, objective: Objective) -> list[Placement]:
    """The placements with at most 0, 1, ... `problem.budget` agents."""
    exact = is_tree(problem) and (objective == "bytes" or len(problem.senders) == 1)
    best = _priced(problem, None, objective, exact=True)
    found = [best]
    for most, overlay in enumerate(_options(problem, objective, exact=exact), 1):
        sure = exact or most == 1  # one agent: all switches are tried, and there is one way to join the hosts
        best = min(replace(best, exact=sure), _priced(problem, overlay, objective, exact=sure), key=_rank)
        found.append(best)
    return found


def _options(problem: Problem, objective: Objective, *, exact: bool) -> Iterator[Overlay]:
    """The best overlays with at most 1, 2, ... agents."""
    if not problem.budget:
        return
    tree = shortest_path_tree(problem)
    if objective == "time" and exact:
        yield from _least_times(problem, tree)
        return
    along = fewest_bytes(problem, tree, problem.budget)
    if exact:
        yield from along
    elif objective == "bytes":
        sets = few_bytes(problem, [overlay.agents for overlay in along])
        yield from (nearest(problem, agents) for agents in sets)
    else:
        starts = [nearest(problem, overlay.agents) for overlay in along]
        if len(problem.senders) == 1:
            starts += _least_times(problem, tree)
        yield from short_time(problem, starts)


def _least_times(problem: Problem, tree: RootedTree) -> Iterator[Overlay]:
    for most in range(1, problem.budget + 1):
        overlay = least_time(problem, tree, most)
        if overlay is not None:
            yield overlay


def _priced(problem: Problem, overlay: Overlay | None, objective: Objective, *, exact: bool) -> Placement:
    carried = connections(problem, overlay)
    used = {node for connection in carried for node in (connection.start, connection.end)}
    return Placement(
        objective=objective,
        agents=tuple(
            sorted(problem.name(agent) for agent in (overlay.agents if overlay else ()) if agent in used)
        ),
        connections=tuple(_named(problem, connection) for connection in carried),
        link_bytes=link_bytes(problem, carried),
        seconds=completion_time(problem, carried),
        exact=exact,
    )


def _rank(placement: Placement) -> tuple[float, int, float]:
    """Cheapest first, then fewest agents, then cheapest by the other objective."""
    costs = placement.link_bytes, placement.seconds
    first, second = costs if placement.objective == "bytes" else costs[::-1]
    return first, len(placement.agents), second


def _named(problem: Problem, connection: Connection) -> NamedConnection:
    return NamedConnection(
        problem.name(connection.sender), problem.name(connection.start), problem.name(connection.end)
    )
