"""The desired entries of a switch: for the topology, and for its part in each stream. Pure functions.

Ids of multicast groups say what the group is for, so that none needs allocating:

    1 to 4096        the data of the stream with index id - 1
    0x2000 + n       neighbour n alone
    0x4000 + n       neighbour n and the switch's cache agent
"""

from ipaddress import IPv4Network

from groupflow.control.sessions.numbers import NodeNumbers, Stream
from groupflow.control.sessions.replication import Neighbour, Node
from groupflow.model.session import Mode, Policy
from groupflow.model.topology import Topology
from groupflow.p4rt.entries import (
    GROUPS,
    PUNT_METER,
    Action,
    Entries,
    Key,
    Rate,
    Replicas,
    action,
    mac_number,
)

_ALONE, _WITH_AGENT = 0x2000, 0x4000
REQUESTS, KEEPALIVES = Rate(200, 400), Rate(400, 400)
"""Messages of a port to the controller. The rate of keepalives suffices for 200 members at the host."""


def unicast_entries(topology: Topology, switch: str) -> Entries:
    """Entries for routing and proxy ARP: ping, TCP and the like work wherever sessions do."""
    here = topology.switches[switch]
    mac = mac_number(here.mac)
    entries: Entries = {Key("l3_admit", (mac,)): action("admit_to_l3")}
    for host in topology.hosts.values():
        path = topology.path(switch, host.switch)
        if path is None:
            continue
        for ip in (host.ip, host.gateway):
            entries[Key("arp_responder", (int(ip),))] = action("arp_reply", mac=mac)
        if len(path) == 1:
            port, destination = host.port, host.mac
        else:
            port, destination = topology.port_to(switch, path[1]), topology.switches[path[1]].mac
        entries[Key("ipv4_route", (int(host.ip), 32))] = action(
            "route", port=port, src=mac, dst=mac_number(destination)
        )
    return entries


def guard_entries(topology: Topology, switch: str, sessions: IPv4Network) -> Entries:
    """Entries that say how often each port may call the controller, and from which addresses a host may send.

    `sessions`: the addresses of TCP sessions, from which the switch's agent may send, too.
    """
    entries: Entries = {}
    for port in topology.switches[switch].ports:
        entries[Key(PUNT_METER, (2 * port,))] = REQUESTS
        entries[Key(PUNT_METER, (2 * port + 1,))] = KEEPALIVES
        host = topology.host_at(switch, port)
        if host is None:
            continue
        source = action("host", mac=mac_number(host.mac), ip=int(host.ip))
        if host.name == topology.switches[switch].agent:
            first, mask = int(sessions.network_address), int(sessions.netmask)
            source = action("agent", **source.params, sessions=first, mask=mask)
        entries[Key("port_sources", (port,))] = source
    return entries


def stream_entries(
    topology: Topology,
    node: Node,
    stream: Stream,
    numbers: NodeNumbers,
    mode: Mode,
    policy: Policy,
    queue: int = 0,
) -> Entries:
    """The entries of a switch for its part in one stream. `queue`: of its data under flow control, or 0."""

    entries: Entries = {
        Key("neighbours", (number,)): _addressing(topology, node.switch, neighbour)
        for neighbour, number in numbers.neighbours.items()
    }

    def port(neighbour: Neighbour) -> int:
        return topology.port_to(node.switch, neighbour.node)

    def copy(neighbour: Neighbour) -> tuple[int, int]:
        return port(neighbour), numbers.neighbours[neighbour]

    def group_of(kind: int, neighbour: Neighbour, *others: Neighbour) -> int:
        number = kind | numbers.neighbours[neighbour]
        entries[Key(GROUPS, (number,))] = Replicas(frozenset(map(copy, (neighbour, *others))))
        return number

    upstream = group_of(_ALONE, node.upstream)
    repair, acknowledged = 0, upstream
    receiving = [branch.neighbour for branch in node.branches if not (branch.isolated and node.agent)]
    if node.agent:
        receiving.append(node.agent)
        repair = group_of(_ALONE, node.agent)
        if mode == "n2n" or policy == "isolate":
            acknowledged = repair  # the agent acknowledges in its own words
        else:
            acknowledged = group_of(_WITH_AGENT, node.upstream, node.agent)
    data = numbers.index + 1 if receiving else 0
    if data:
        entries[Key(GROUPS, (data,))] = Replicas(frozenset(map(copy, receiving)))
    active = 0
    for branch in node.branches:
        number = numbers.branches[branch.neighbour, branch.member]
        active |= 1 << number
        entries[Key("branches", (*stream, port(branch.neighbour), branch.member))] = action(
            "from_branch", branch=number
        )
    entries[Key("streams", stream)] = action(
        "stream",
        index=numbers.index,
        data_group=data,
        ack_group=acknowledged,
        repair_group=repair,
        upstream_group=upstream,
        upstream_port=port(node.upstream),
        agent_port=port(node.agent) if node.agent else 0,
        active=active,
        queue=queue,
    )
    return entries


def _addressing(topology: Topology, switch: str, neighbour: Neighbour) -> Action:
    """The action that addresses a copy for a neighbour."""
    here = mac_number(topology.switches[switch].mac)
    if neighbour.node in topology.switches:
        return action("to_switch", src=here, dst=mac_number(topology.switches[neighbour.node].mac))
    host = topology.hosts[neighbour.node]
    return action("to_host", src=here, dst=mac_number(host.mac), ip=int(host.ip), port=neighbour.udp_port)
