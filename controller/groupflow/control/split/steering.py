"""Entries with which TCP clients reach an agent, or are refused. Pure functions."""

from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network

from groupflow.control.split.overlay import nearest
from groupflow.model.topology import Topology
from groupflow.p4rt.entries import Entries, Key, action

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
    return {key: action("route", port=port, src=_number(topology.switches[switch].mac), dst=_number(mac))}


def _number(mac: str) -> int:
    return int(mac.replace(":", ""), 16)
