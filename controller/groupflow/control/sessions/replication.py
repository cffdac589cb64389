"""The tree of a stream: the neighbours of each switch on it. Pure functions."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from groupflow.control.sessions.model import RefusalError, Session
from groupflow.model.topology import Topology


class Neighbour(NamedTuple):
    """A node next to a switch: a host's process, or (with UDP port 0) another switch."""

    node: str
    udp_port: int = 0


class Branch(NamedTuple):
    """A neighbour that a stream goes down to."""

    neighbour: Neighbour
    member: int
    """the member behind the branch; 0: the next switch"""
    isolated: bool = False
    """the branch still counts, but gets the stream from the cache"""


class Node(NamedTuple):
    """A switch's part in a stream."""

    switch: str
    upstream: Neighbour
    branches: tuple[Branch, ...]
    agent: Neighbour | None
    """the cache agent, where caching is delegated to it"""


def stream_tree(
    topology: Topology, session: Session, source: int, agents: Mapping[str, Neighbour]
) -> dict[str, Node]:
    """The nodes of one sender's stream, by switch, along shortest paths from the sender.

    `agents`: the registered cache agents, by switch. Raises RefusalError if a receiver cannot be reached.
    """
    sender = session.members[source]
    root = topology.hosts[sender.host].switch
    upstream = {root: Neighbour(sender.host, sender.udp_port)}
    branches: dict[str, list[Branch]] = {root: []}
    for receiver in session.receivers:
        member = session.members[receiver]
        leaf = topology.hosts[member.host].switch
        path = topology.path(root, leaf)
        if path is None:
            raise RefusalError("bad_request", f"no path from {sender.host} to {member.host}")
        for above, below in pairwise(path):
            if below not in upstream:
                upstream[below] = Neighbour(above)
                branches[below] = []
                branches[above].append(Branch(Neighbour(below), 0))
        isolated = (source, receiver) in session.record.isolated and leaf in agents
        branches[leaf].append(Branch(Neighbour(member.host, member.udp_port), receiver, isolated))
    member_hosts = {member.host for member in session.members.values()}
    return {
        switch: Node(switch, upstream[switch], tuple(below), _cache(agents.get(switch), below, member_hosts))
        for switch, below in branches.items()
    }


def _cache(agent: Neighbour | None, branches: list[Branch], member_hosts: set[str]) -> Neighbour | None:
    """The agent, unless its host is a member, which it cannot be told from: the port names the speaker."""
    return agent if agent and branches and agent.node not in member_hosts else None


def lowest_rate(topology: Topology, nodes: Mapping[str, Node], *, leaves: bool) -> int:
    """bit/s of the slowest link of a tree, with or without its receivers' links; 0: no link is limited."""
    ends = [(node.switch, end) for node in nodes.values() for end in (node.upstream, node.agent) if end]
    ends += [
        (node.switch, branch.neighbour)
        for node in nodes.values()
        for branch in node.branches
        if leaves and branch.member
    ]
    return _lowest(topology, ends)


def lowest_branch_rate(topology: Topology, node: Node) -> int:
    """bit/s of the slowest link below a node; 0: no link is limited."""
    return _lowest(topology, ((node.switch, branch.neighbour) for branch in node.branches))


def _lowest(topology: Topology, ends: Iterable[tuple[str, Neighbour]]) -> int:
    rates = (topology.link_between(switch, end.node).spec.rate for switch, end in ends)
    return min((rate for rate in rates if rate), default=0)
