"""The cost of a placement: link bytes and completion time of one transfer.

A *stream* is one sender's transfer of `size_bytes`. It is carried by TCP connections: sender to agent,
agent to agent, agent to member; without agents, sender to member. Each runs along the shortest path between
its ends.

**Link bytes** [bytes]: each connection puts `size_bytes` on every link of its path, hosts' own links
included. The sum over all connections of all streams. An agent is its switch together with its host: the link
between the two is no link of the network. Headers, acknowledgements and retransmissions do not count.

**Completion time** [s]: from the senders' first SYN, all at once, until the last member has the last byte.
- A link serves the connections that cross it in one direction alike. A connection's rate [bit/s] is the
  smallest `rate / connections` of its path. All streams count, for all of the time.
- End-to-end (E2E): an agent takes no more than every branch has acknowledged. So a stream moves at the pace
  of its slowest connection.
- A connection is opened when the stream arrives: 1.5 round trips, or 3 one-way delays, pass from the first
  SYN until its first byte has arrived. These delays add up from connection to connection.

A member's time is `8 size_bytes / rate + 3 * (one-way delays of its connections)`, the completion time the
longest of these. Slow start, queues and loss are left out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from groupflow.placement.problem import Overlay, Problem

SET_UP_DELAYS = 3
"""one-way delays from a connection's SYN until its first byte has arrived: SYN, SYN-ACK, data"""


@dataclass(frozen=True)
class Connection:
    """One TCP connection of one stream. Nodes are the problem's numbers; an agent is its switch."""

    sender: int
    """the sender of the stream that the connection carries"""
    start: int
    end: int


def connections(problem: Problem, overlay: Overlay | None) -> list[Connection]:
    """Every connection of every stream, each after the one that feeds it; `overlay` None: no agents.

    A stream does not go to an agent that would pass it to no receiver.
    """
    if overlay is None:
        return [Connection(s, s, member) for s in problem.senders for member in problem.receivers(s)]
    near: dict[int, list[int]] = {agent: [] for agent in overlay.agents}
    for one, other in sorted(overlay.edges):
        near[one].append(other)
        near[other].append(one)
    found: list[Connection] = []
    for sender in problem.senders:
        receivers = problem.receivers(sender)
        found.append(Connection(sender, sender, overlay.serving[sender]))
        found += _between_agents(
            near, sender, overlay.serving[sender], {overlay.serving[r] for r in receivers}
        )
        found += [Connection(sender, overlay.serving[host], host) for host in receivers]
    return found


def _between_agents(
    near: dict[int, list[int]], sender: int, first: int, wanted: set[int]
) -> list[Connection]:
    """A stream's connections over the tree of agents, from its first agent to those in `wanted`."""
    above = {first: first}
    order = [first]
    for agent in order:
        for other in near[agent]:
            if other != above[agent]:
                above[other] = agent
                order.append(other)
    fed = set(wanted)
    for agent in reversed(order):
        if agent in fed:
            fed.add(above[agent])
    return [Connection(sender, above[agent], agent) for agent in order[1:] if agent in fed]


def link_bytes(problem: Problem, carried: Iterable[Connection]) -> int:
    """Bytes that all links carry together, as defined above."""
    routes, switches = problem.routes, len(problem.routes)
    crossings = 0
    for connection in carried:
        crossings += (connection.start >= switches) + (connection.end >= switches)
        start, end = problem.switch_of(connection.start), problem.switch_of(connection.end)
        crossings += routes.tree(start).hops[end]
    return crossings * problem.size_bytes


def completion_time(problem: Problem, carried: Sequence[Connection]) -> float:
    """Completion time in s, as defined above."""
    share = _shares(problem, carried)
    slowest = dict.fromkeys(problem.senders, 0.0)
    delay: dict[tuple[int, int], int] = {}
    for connection in carried:
        sender, above = connection.sender, (connection.sender, connection.start)
        here = sender, connection.end
        slowest[sender] = max(slowest[sender], share[connection])
        way = problem.path(connection.start, connection.end)
        delay[here] = delay.get(above, 0) + sum(spec.delay_ns for _, spec in way)
    return max(
        8 * problem.size_bytes * slowest[sender] + SET_UP_DELAYS * delay[sender, member] / 1e9
        for sender in problem.senders
        for member in problem.receivers(sender)
    )


def _shares(problem: Problem, carried: Sequence[Connection]) -> dict[Connection, float]:
    """1 / rate of each connection in s/bit, when all carry data: the largest load / rate of its path."""
    load = Counter(ends for c in carried for ends, _ in problem.path(c.start, c.end))
    paths = {c: problem.path(c.start, c.end) for c in carried}
    return {
        c: max((load[ends] / spec.rate for ends, spec in path if spec.rate), default=0.0)
        for c, path in paths.items()
    }
