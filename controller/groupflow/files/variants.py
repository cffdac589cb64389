"""A topology changed in one respect: fewer members, another rate, delay or loss. Pure functions."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import yaml

from groupflow.files.forms import keys_in_file
from groupflow.files.topology import host_mac, load, parse
from groupflow.model.topology import (
    Host,
    Link,
    LinkSpec,
    RealHostSettings,
    RealLinkSettings,
    RealSwitchSettings,
    Topology,
    TopologyError,
)

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
    return parse(render(replace(topology, hosts=hosts, links=links), ports=False), topology.name)


def with_rate(topology: Topology, rate: int) -> Topology:
    """The topology with every link at `rate` bit/s, except links between agents and their switches."""
    return _change(topology, lambda link: not _is_agent_link(topology, link), lambda s: replace(s, rate=rate))


def with_loss(topology: Topology, loss: int) -> Topology:
    """The topology with `loss` (parts per 10^9) on every link in each direction, except agents' own links."""
    return _change(topology, lambda link: not _is_agent_link(topology, link), lambda s: replace(s, loss=loss))


def with_link(topology: Topology, one: str, other: str, change: Callable[[LinkSpec], LinkSpec]) -> Topology:
    """The topology with the link between two nodes replaced by `change` of its old value."""
    if not any({link.a.node, link.b.node} == {one, other} for link in topology.links):
        raise TopologyError(f"{topology.name}: no link between {one} and {other}; name two linked nodes")
    return _change(topology, lambda link: {link.a.node, link.b.node} == {one, other}, change)


def with_links(topology: Topology, change: Callable[[LinkSpec], LinkSpec]) -> Topology:
    """The topology with `change` of each link."""
    return _change(topology, lambda _: True, change)


def render(topology: Topology, *, ports: bool = True, whole: bool = False) -> str:
    """The topology as YAML that reads back as the same topology; without `ports` these are numbered anew.

    `whole`: with each port and each MAC, also where they follow from the rest.
    """
    form: dict[str, object] = {
        "name": topology.name,
        "description": topology.description,
        "switches": {
            name: keys_in_file(RealSwitchSettings, switch) for name, switch in topology.switches.items()
        },
        "hosts": {name: _host_form(host, whole=whole) for name, host in topology.hosts.items()},
        "links": _link_forms(topology, ports=ports, whole=whole),
    }
    if topology.pcap:
        form["pcap"] = sorted(topology.pcap)
    return yaml.safe_dump(form, sort_keys=False)


def _host_form(host: Host, *, whole: bool) -> dict[str, object]:
    chosen = {
        "mac": whole or host.mac != host_mac(host.ip),
        "gateway": Topology.is_foreign(host),
        "gateway_mac": host.fixed_gateway,
    }
    form = keys_in_file(RealHostSettings, host)
    return {key: value for key, value in form.items() if chosen.get(key, True)}


def _link_forms(topology: Topology, *, ports: bool, whole: bool) -> list[dict[str, object]]:
    """The links; ports are named where numbering by the order of links makes others."""
    count = Counter[str]()
    ends: list[list[str]] = []
    numbered = not whole  # by the order of links
    for link in topology.links:
        ends.append([])
        for end in (link.a, link.b):
            count[end.node] += 1
            numbered &= end.port in (0, count[end.node])
            ends[-1].append(f"{end.node}-p{end.port}" if end.port else end.node)
    names = ((link.a.node, link.b.node) for link in topology.links)
    found = names if numbered or not ports else map(tuple, ends)
    return [
        keys_in_file(RealLinkSettings, RealLinkSettings(ends=pair, spec=link.spec, schedule=link.schedule))
        for link, pair in zip(topology.links, found, strict=True)
    ]


def agents(topology: Topology) -> frozenset[str]:
    """Hosts that are cache agents."""
    return frozenset(switch.agent for switch in topology.switches.values() if switch.agent)


def _is_agent_link(topology: Topology, link: Link) -> bool:
    return not agents(topology).isdisjoint((link.a.node, link.b.node))


def _change(
    topology: Topology, chosen: Callable[[Link], bool], change: Callable[[LinkSpec], LinkSpec]
) -> Topology:
    links = tuple(replace(link, spec=change(link.spec)) if chosen(link) else link for link in topology.links)
    return replace(topology, links=links)
