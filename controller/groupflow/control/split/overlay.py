"""The agent that serves each member of a TCP session, and the neighbours of each agent. Pure functions.

The sender is not known before a client connects, and a client may connect at any agent: so agents form one
tree without a root, and each hands a stream on to all its neighbours that have members behind them, but not
to the one that the stream came from.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations, pairwise

from groupflow.control.sessions.model import Session, Tcp
from groupflow.model import ports
from groupflow.model.topology import Topology
from groupflow.p4rt.entries import Entries, Key, action, mac_number

MAX_NAME = 64
"""Most bytes of a member's name that agents take."""


@dataclass(frozen=True)
class Part:
    """An agent's part in a session. Agents are named by their switch."""

    switch: str
    forward: tuple[tuple[str, tuple[int, ...]], ...]
    """neighbours with members behind them, and those members: streams go to these neighbours"""
    accept: tuple[str, ...]
    """all neighbours: streams may come from any of them"""
    members: tuple[int, ...]
    """listeners that this agent connects to"""


def nearest(topology: Topology, switch: str, agents: Collection[str]) -> str | None:
    """The switch of the nearest agent: fewest hops, then least delay, then by name. None: none is reached."""
    lengths = [(length, agent) for agent in agents if (length := _length(topology, switch, agent))]
    return min(lengths)[1] if lengths else None


def neighbours(topology: Topology, agents: Collection[str]) -> dict[str, frozenset[str]]:
    """A minimum spanning tree over the agents' distances (Kruskal); a forest if the network is in pieces."""
    lengths = sorted(
        (length, pair)
        for pair in combinations(sorted(agents), 2)
        if (length := _length(topology, *pair)) is not None
    )
    tree: dict[str, frozenset[str]] = {agent: frozenset() for agent in sorted(agents)}
    part_of = {agent: {agent} for agent in tree}
    for _, (one, other) in lengths:
        if other not in part_of[one]:
            tree[one] |= {other}
            tree[other] |= {one}
            joined = part_of[one] | part_of[other]
            part_of.update(dict.fromkeys(joined, joined))
    return tree


def parts(topology: Topology, session: Session, agents: Collection[str]) -> dict[str, Part]:
    """Every agent's part in a session, by switch; `agents`: the switches whose agents take part."""
    tree = neighbours(topology, agents)
    served: dict[str, list[int]] = {agent: [] for agent in tree}
    for number in session.listeners:
        agent = nearest(topology, topology.hosts[session.members[number].host].switch, agents)
        if agent is not None:
            served[agent].append(number)
    return {
        agent: Part(
            agent,
            forward=tuple((n, behind) for n in sorted(around) if (behind := _behind(tree, served, n, agent))),
            accept=tuple(sorted(around)),
            members=tuple(served[agent]),
        )
        for agent, around in tree.items()
    }


def form(topology: Topology, session: Session, settings: Tcp, part: Part) -> dict[str, object]:
    """A session as an agent is told of it: the `session` of the control socket's `set_session`."""
    leader = min(session.listeners, default=None) if settings.replies == "leader" else None
    branches: list[dict[str, object]] = [
        {
            "kind": "agent",
            "name": _agent(topology, agent),
            "address": f"{_agent_address(topology, agent)}:{ports.SPLIT}",
            "from": _start(session, behind),
            "links": _links(topology, part.switch, agent, _agent(topology, agent)),
        }
        for agent, behind in part.forward
    ]
    for number in part.members:
        member = session.members[number]
        branches.append(
            {
                "kind": "member",
                "name": member.name.encode()[:MAX_NAME].decode(errors="ignore"),
                "member": number,
                "address": f"{topology.hosts[member.host].ip}:{member.tcp_port}",
                "from": _start(session, (number,)),
                "links": _links(topology, part.switch, topology.hosts[member.host].switch, member.host),
            }
        )
    return {
        "id": session.id,
        "address": settings.address,
        "ports": list(settings.ports),
        "mode": session.record.mode,
        "policy": session.record.policy,
        "cache_bytes": settings.cache,
        "history_bytes": settings.history,
        "congestion": settings.congestion,
        "send_buffer": settings.send_buffer,
        "receive_buffer": settings.receive_buffer,
        "replies": "drop" if settings.replies == "leader" and leader is None else settings.replies,
        "leader": leader,
        "neighbours": [_agent_address(topology, agent) for agent in part.accept],
        "branches": branches,
    }


def _behind(
    tree: Mapping[str, Iterable[str]], served: Mapping[str, list[int]], agent: str, towards: str
) -> tuple[int, ...]:
    """The members behind an agent, seen from its neighbour `towards`."""
    found: list[int] = []
    todo = [(agent, towards)]
    while todo:
        here, before = todo.pop()
        found += served[here]
        todo += [(further, here) for further in tree[here] if further != before]
    return tuple(sorted(found))


def _start(session: Session, members: Iterable[int]) -> str:
    """The join point of a branch in a stream under way: `start` if any member behind the branch wants it."""
    return "start" if any(session.members[number].start == "start" for number in members) else "now"


def _length(topology: Topology, start: str, goal: str) -> tuple[int, int] | None:
    """Hops and delay (ns) of the path between two switches."""
    path = topology.path(start, goal)
    if path is None:
        return None
    return len(path), sum(topology.link_between(*pair).spec.delay_ns for pair in pairwise(path))


def _links(topology: Topology, start: str, switch: str, host: str) -> dict[str, int]:
    """bit/s of each limited link from the agent of a switch to a host at another, by the link's ends."""
    path = (_agent(topology, start), *(topology.path(start, switch) or (start,)), host)
    rates = {">".join(pair): topology.link_between(*pair).spec.rate for pair in pairwise(path)}
    return {name: rate for name, rate in rates.items() if rate}


def _agent(topology: Topology, switch: str) -> str:
    agent = topology.switches[switch].agent
    assert agent is not None, "only switches with an agent are given"
    return agent


def _agent_address(topology: Topology, switch: str) -> str:
    return str(topology.hosts[_agent(topology, switch)].ip)


_TABLE = "ipv4_route"


def refusal(prefix: IPv4Network) -> Entries:
    """The entry for the sessions' prefix: refuses addresses for which no session has a route."""
    return {Key(_TABLE, (int(prefix.network_address), prefix.prefixlen)): action("refuse")}


def route(topology: Topology, switch: str, address: str, agents: Collection[str]) -> Entries:
    """The route to a session's address at a switch: towards the nearest switch with an agent of the session.

    Each hop is one nearer to an agent, so no packet goes in a circle, whichever agent each switch prefers.
    """
    agent = nearest(topology, switch, agents)
    if agent is None:
        return {}
    if agent == switch:
        port = topology.agent_port(switch)
        mac = topology.hosts[topology.switches[switch].ports[port].node].mac
    else:
        path = topology.path(switch, agent)
        assert path is not None, "nearest agents are reached"
        port, mac = topology.port_to(switch, path[1]), topology.switches[path[1]].mac
    key = Key(_TABLE, (int(IPv4Address(address)), 32))
    return {
        key: action("route", port=port, src=mac_number(topology.switches[switch].mac), dst=mac_number(mac))
    }
