"""The switches that take part in a controlled flow, and the neighbours of each. Pure functions."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from groupflow.control.diffusion.coefficients import line_rate
from groupflow.control.diffusion.plan import Branch, Rule, Upstream
from groupflow.control.sessions.replication import Node
from groupflow.errors import Error, InvalidError, Kind
from groupflow.model.flow import FlowRequest
from groupflow.model.topology import Topology

Delays = Callable[[str, str], int]
"""The delay in ns of the link between two adjacent nodes."""


PROTOCOLS = {"tcp": 6, "udp": 17}


class Waypoint(NamedTuple):
    """A switch on the way of a flow, before it has numbers for its queues and generators."""

    switch: str
    rule: Rule | None
    """None: the data of a session's sender"""
    upstream: Upstream | None
    branches: tuple[Branch, ...]


def flow_places(topology: Topology, request: FlowRequest, delays: Delays) -> list[Waypoint]:
    """The places from one host to another, along the route of unicast packets. Raises Error."""
    for name in (request.src, request.dst):
        if name not in topology.hosts:
            known = ", ".join(topology.hosts)
            raise Error(f"no host {name!r}; there are {known}", Kind.NOT_FOUND)
    src, dst = topology.hosts[request.src or ""], topology.hosts[request.dst or ""]
    path = topology.path(src.switch, dst.switch)
    if path is None:
        raise InvalidError(f"no path from {src.name} to {dst.name}; join their switches by links")
    if (request.src_port or request.dst_port) and not request.protocol:
        raise InvalidError("a port needs a protocol; give tcp or udp")
    rule = Rule(
        src=int(src.ip),
        dst=int(dst.ip),
        protocol=PROTOCOLS[request.protocol] if request.protocol else None,
        src_port=request.src_port,
        dst_port=request.dst_port,
    )
    nodes = (src.name, *path, dst.name)
    return [
        Waypoint(
            switch,
            rule,
            _upstream(topology, switch, before, (behind,), delays, external=request.external),
            (_branch(topology, switch, behind, delays, request.packet_bytes),),
        )
        for before, switch, behind in zip(nodes, path, nodes[2:], strict=False)
    ]


def link_places(topology: Topology, request: FlowRequest, delays: Delays) -> list[Waypoint]:
    """The places for all unicast packets over one link, from one switch to the next: control per input port.

    The switch behind the link has a queue at each of its ports for them. Raises Error.
    """
    before, behind = request.src or "", request.dst or ""
    for name in (before, behind):
        if name not in topology.switches:
            raise Error(f"no switch {name!r}; there are {', '.join(topology.switches)}", Kind.NOT_FOUND)
    if behind not in topology.neighbours(before):
        near = ", ".join(topology.neighbours(before)) or "none"
        raise InvalidError(f"no link from {before} to {behind}; its neighbour switches are {near}")
    out, into = topology.port_to(before, behind), topology.port_to(behind, before)
    size = request.packet_bytes
    beyond = [
        _branch(topology, behind, end.node, delays, size)._replace(port=port, controlled=False)
        for port, end in sorted(topology.switches[behind].ports.items())
        if port != into
    ]
    first = Waypoint(before, Rule(egress_port=out), None, (_branch(topology, before, behind, delays, size),))
    if not beyond:
        raise InvalidError(f"{behind} has no port but the one to {before}; control another link")
    upstream = _upstream(topology, behind, before, (), delays, external=False)
    return [first, Waypoint(behind, Rule(ingress_port=into), upstream, tuple(beyond))]


def stream_places(
    topology: Topology, request: FlowRequest, tree: Mapping[str, Node], delays: Delays
) -> list[Waypoint]:
    """The places for a sender's stream in a session: every switch of its tree, without cache agents."""
    places: list[Waypoint] = []
    for node in tree.values():
        behind = [branch.neighbour.node for branch in node.branches if not branch.isolated]
        if not behind:
            continue
        before, external = node.upstream.node, request.external
        upstream = _upstream(topology, node.switch, before, behind, delays, external=external)
        size = request.packet_bytes
        branches = (_branch(topology, node.switch, name, delays, size) for name in behind)
        # Neighbours on one port share its queue.
        each_port = {branch.port: branch for branch in branches}
        places.append(Waypoint(node.switch, None, upstream, tuple(each_port.values())))
    return places


def _upstream(
    topology: Topology, switch: str, before: str, behind: Iterable[str], delays: Delays, *, external: bool
) -> Upstream | None:
    """The node before a switch. A host's link may have no delay: then d_0 is that of the link downstream."""
    is_host = before not in topology.switches
    if is_host and not external:
        return None
    delay = delays(switch, before) or max((delays(switch, name) for name in behind), default=0)
    return Upstream(before, topology.port_to(switch, before), delay, external=is_host)


def _branch(topology: Topology, switch: str, behind: str, delays: Delays, packet_bytes: int) -> Branch:
    link = topology.link_between(switch, behind)
    return Branch(
        behind,
        topology.port_to(switch, behind),
        delays(switch, behind),
        line_rate(link.spec.rate, packet_bytes),
        controlled=behind in topology.switches,
    )
