"""A topology changed in one respect: fewer members, another rate, delay or loss. Pure functions."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import yaml

from groupflow import units
from groupflow.files.topology import host_mac, load, parse
from groupflow.model.topology import Host, Link, LinkSpec, Step, Switch, Topology, TopologyError

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


def render(topology: Topology, *, ports: bool = True, whole: bool = False) -> str:
    """The topology as YAML that reads back as the same topology; without `ports` these are numbered anew.

    `whole`: with each port and each MAC, also where they follow from the rest.
    """
    form: dict[str, object] = {
        "name": topology.name,
        "description": topology.description,
        "switches": {name: _switch_form(switch) for name, switch in topology.switches.items()},
        "hosts": {name: _host_form(host, whole=whole) for name, host in topology.hosts.items()},
        "links": _link_forms(topology, ports=ports, whole=whole),
    }
    if topology.pcap:
        form["pcap"] = sorted(topology.pcap)
    return yaml.safe_dump(form, sort_keys=False)


def _switch_form(switch: Switch) -> dict[str, object]:
    form = {"device_id": switch.device_id, "grpc": switch.grpc, "agent": switch.agent}
    files = {"program": switch.program, "p4info": switch.p4info, "entries": switch.entries}
    form |= {key: path and str(path.absolute()) for key, path in files.items()}
    return {key: value for key, value in form.items() if value is not None}


def _host_form(host: Host, *, whole: bool) -> dict[str, object]:
    form: dict[str, object] = {"ip": f"{host.ip}/{host.prefix}"}
    if whole or host.mac != host_mac(host.ip):
        form["mac"] = host.mac
    if Topology.is_foreign(host):
        form["gateway"] = str(host.gateway)
    if host.fixed_gateway:
        form["gateway_mac"] = host.gateway_mac
    texts = {"commands": [*host.commands], "programs": [*host.programs]}
    return form | {key: value for key, value in texts.items() if value}


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
    return [
        {"ends": [link.a.node, link.b.node] if numbered or not ports else named}
        | _spec_form(link.spec)
        | ({"schedule": [_step_form(step) for step in link.schedule]} if link.schedule else {})
        for link, named in zip(topology.links, ends, strict=True)
    ]


def _step_form(step: Step) -> dict[str, object]:
    parts = (part.partition("=") for part in step.change.split(","))
    changes = {key if given else "state": value or key for key, given, value in parts}
    return {"at": units.format_delay(step.at_ns), **changes}


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
