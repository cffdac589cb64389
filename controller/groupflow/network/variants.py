"""A topology changed in one respect: fewer members, another rate, delay or loss. Pure functions."""

import re
from collections.abc import Callable
from dataclasses import replace

import yaml

from groupflow.network import units
from groupflow.network.topology import Link, LinkSpec, Topology, TopologyError, load, parse

_MEMBER = re.compile(r"m[a-z]([0-9]+)")
"""Members are named as in the paper: m, the network's letter, the number within the network."""


def named(name: str) -> Topology:
    """One of the package's topologies, e.g. `fig5`."""
    return load(name)


def with_members(topology: Topology, count: int) -> Topology:
    """The topology with the first `count` members of each network, and all other hosts."""

    def stays(name: str) -> bool:
        member = _MEMBER.fullmatch(name)
        return member is None or int(member[1]) <= count

    if count < 1:
        raise TopologyError(f"{topology.name}: {count} members will not do; take 1 or more")
    hosts = {name: host for name, host in topology.hosts.items() if stays(name)}
    links = tuple(link for link in topology.links if stays(link.a.node) and stays(link.b.node))
    # Rendered and read again, because ports are numbered by the remaining links.
    return parse(render(replace(topology, hosts=hosts, links=links)), topology.name)


def with_rate(topology: Topology, rate: int) -> Topology:
    """The topology with every link at `rate` bit/s, except links between agents and their switches."""
    return _change(topology, lambda link: not _is_agent_link(topology, link), lambda s: replace(s, rate=rate))


def with_loss(topology: Topology, loss: int) -> Topology:
    """The topology with `loss` (parts per 10^9) on every link in each direction, except agents' own links."""
    return _change(topology, lambda link: not _is_agent_link(topology, link), lambda s: replace(s, loss=loss))


def with_delay(topology: Topology, one: str, other: str, delay_ns: int) -> Topology:
    """The topology with another delay on the link between two nodes."""
    return with_link(topology, one, other, lambda spec: replace(spec, delay_ns=delay_ns))


def without_delay(topology: Topology) -> Topology:
    """The topology without link delays, as a switch without link emulation makes it."""
    return _change(topology, lambda _: True, lambda spec: replace(spec, delay_ns=0))


def with_link(topology: Topology, one: str, other: str, change: Callable[[LinkSpec], LinkSpec]) -> Topology:
    """The topology with the link between two nodes replaced by `change` of its old value."""
    if not any({link.a.node, link.b.node} == {one, other} for link in topology.links):
        raise TopologyError(f"{topology.name}: no link between {one} and {other}; name two linked nodes")
    return _change(topology, lambda link: {link.a.node, link.b.node} == {one, other}, change)


def render(topology: Topology) -> str:
    """The topology as YAML that reads back as the same topology."""
    form = {
        "name": topology.name,
        "description": topology.description,
        "switches": {
            name: {"device_id": switch.device_id, "grpc": switch.grpc}
            | ({"agent": switch.agent} if switch.agent else {})
            for name, switch in topology.switches.items()
        },
        "hosts": {name: {"ip": f"{host.ip}/{host.prefix}"} for name, host in topology.hosts.items()},
        "links": [{"ends": [link.a.node, link.b.node]} | _spec_form(link.spec) for link in topology.links],
    }
    return yaml.safe_dump(form, sort_keys=False)


def agents(topology: Topology) -> frozenset[str]:
    """Hosts that are cache agents."""
    return frozenset(switch.agent for switch in topology.switches.values() if switch.agent)


def _spec_form(spec: LinkSpec) -> dict[str, object]:
    return {
        "rate": units.format_rate(spec.rate),
        "delay": units.format_delay(spec.delay_ns),
        "loss": units.format_loss(spec.loss),
        "queue": spec.queue,
    }


def _is_agent_link(topology: Topology, link: Link) -> bool:
    return not agents(topology).isdisjoint((link.a.node, link.b.node))


def _change(
    topology: Topology, chosen: Callable[[Link], bool], change: Callable[[LinkSpec], LinkSpec]
) -> Topology:
    links = tuple(replace(link, spec=change(link.spec)) if chosen(link) else link for link in topology.links)
    return replace(topology, links=links)
