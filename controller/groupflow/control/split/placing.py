"""Chooses the agents of a session whose number of agents is bounded. Pure functions.

The sender is not known before a client connects, so a host of every switch, or of some, counts as a
sender; without listeners, all hosts count as members. Agents are joined as `overlay` joins them, which is
also how `groupflow.placement` prices them: each host to the nearest, agents by a minimum spanning tree.
"""

from collections.abc import Collection, Sequence

from groupflow.errors import InvalidError
from groupflow.model.topology import Topology
from groupflow.placement import Problem, choose
from groupflow.placement.choose import nearest
from groupflow.placement.costs import connections, link_bytes

MOST_SENDERS = 8
"""senders that stand for all hosts: the time of a choice grows with their number"""


def place(
    topology: Topology,
    candidates: Collection[str],
    budget: int,
    listeners: Sequence[str],
    *,
    keep: Collection[str] = (),
) -> tuple[str, ...]:
    """Switches of at most `budget` agents, with the fewest link bytes found, ordered by name.

    `candidates`: switches whose agents run; `listeners`: hosts; `keep`: switches that stay, because streams
    may run through their agents. None are chosen only where there are no candidates.
    """
    possible = sorted({*candidates, *keep})
    if not possible:
        return ()
    most = min(budget, len(possible))
    senders = anybody(topology)
    members = [*listeners] or hosts(topology)
    try:
        if keep:
            return _extended(Problem.read(topology, senders, members, most, candidates=possible), keep)
        found = choose(topology, senders, members, most, candidates=possible).agents
        # `choose` takes no agent if unicast is as good; but without one the session could not be reached.
        return found or _extended(Problem.read(topology, senders, members, 1, candidates=possible), ())
    except InvalidError:  # a network of one host, or in pieces
        return tuple(sorted(keep)) or tuple(possible[:most])


def hosts(topology: Topology) -> list[str]:
    """All hosts but those of agents."""
    agents = {switch.agent for switch in topology.switches.values()}
    return [name for name in topology.hosts if name not in agents]


def anybody(topology: Topology) -> list[str]:
    """A host of every switch that has one, as a client may connect anywhere; of `MOST_SENDERS` among many."""
    first: dict[str, str] = {}
    for name in hosts(topology):
        first.setdefault(topology.hosts[name].switch, name)
    found = list(first.values())
    step = max(1, len(found) / MOST_SENDERS)
    return [found[int(number * step)] for number in range(min(len(found), MOST_SENDERS))]


def _extended(problem: Problem, keep: Collection[str]) -> tuple[str, ...]:
    """`keep` with further agents, one at a time that saves most, while one saves; with one agent at least."""
    number = problem.routes.number
    chosen = [number[switch] for switch in keep]
    cost = _cost(problem, chosen) if chosen else None
    while len(chosen) < problem.budget:
        options = [(_cost(problem, [*chosen, c]), c) for c in problem.candidates if c not in chosen]
        best, agent = min(options)
        if cost is not None and best >= cost:
            break
        cost = best
        chosen.append(agent)
    return tuple(sorted(problem.name(agent) for agent in chosen))


def _cost(problem: Problem, agents: Sequence[int]) -> int:
    return link_bytes(problem, connections(problem, nearest(problem, agents)))
