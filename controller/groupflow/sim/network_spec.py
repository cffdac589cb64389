"""The scenario in the core's form: names and units resolved (dataplane/netsim/src/spec.rs)."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import count
from typing import Any

from groupflow.model.topology import CPU_PORT, DROP_PORT, Host, Link
from groupflow.sim import bone, model, tree
from groupflow.sim.split import agent_hosts, split_flows

ETHERNET_BYTES = 14
_FIRST_MEMBER_PORT = 26_470
"""The group's port, which gfagent takes, too: only from there does a switch let repairs through to a host."""
_CACHE_BYTES = 64 << 20
_FIRST_SOURCE_PORT, _FIRST_DESTINATION_PORT = 10_000, 40_000


def network_spec(scenario: model.Scenario) -> str:
    """The JSON text for the core. Raises ScenarioError for impossible flows."""
    topology = scenario.topology
    inside = agent_hosts(scenario)
    nodes = [_switch(scenario, name) for name in topology.switches]
    nodes += [_host("host", host.name, host) for host in topology.hosts.values() if host.name not in inside]
    hops, relays = split_flows(scenario)
    return json.dumps(
        {
            "seed": scenario.seed,
            "duration_ns": scenario.duration_ns,
            "sample_ns": scenario.sample_ns,
            "nodes": nodes,
            "links": [
                _link(link, scenario.extra(place))
                for place, link in enumerate(topology.links)
                if not inside & {link.a.node, link.b.node}
            ],
            "flows": _flows((*scenario.flows, *hops)),
            "relays": relays,
            "members": _members(scenario) if scenario.sessions else [],
            "bones": bone.specs(topology, scenario.bones),
            "trees": tree.specs(scenario.trees),
        }
    )


def _members(scenario: model.Scenario) -> list[dict[str, Any]]:
    """Senders, receivers and cache agents of group sessions."""
    from groupflow.sim.control import session_token

    ports = Counter[str]()
    specs: list[dict[str, Any]] = []

    def add(name: str, host: str, session: int, token: str, start_ns: int, **role: object) -> None:
        port = _FIRST_MEMBER_PORT + ports[host]
        member = {"name": name, "host": host, "udp_port": port, "session": session, "token": token}
        specs.append(member | {"start_ns": start_ns, "role": role})
        ports[host] += 1

    for switch in scenario.topology.switches.values():
        if switch.agent is not None:
            add(f"cache-{switch.agent}", switch.agent, 0, "", 0, kind="cache", max_bytes=_CACHE_BYTES)
    numbers = count(1)
    for group in scenario.sessions:
        token = session_token(group.id)
        for host in group.destinations:
            add(group.member(host), host, group.id, token, group.start_ns, kind="receiver")
        add(
            group.member(group.source),
            group.source,
            group.id,
            token,
            group.start_ns + group.sender_after_ns,
            kind="sender",
            bytes=group.size,
            receivers=len(group.destinations),
            rate_bps=group.rate,
            messages=_messages(group.messages),
        )
        if group.control:
            number = next(numbers)
            specs[-1]["shaped_as"] = number if group.control.external else None
    return specs


def _host(kind: str, name: str, host: Host) -> dict[str, Any]:
    return {"kind": kind, "name": name, "ip": str(host.ip), "mac": host.mac, "gateway_mac": host.gateway_mac}


def _switch(scenario: model.Scenario, name: str) -> dict[str, Any]:
    if scenario.kind(name) == "agent":
        agent = scenario.topology.switches[name].agent
        return _host("agent", name, scenario.topology.hosts[agent or ""]) | asdict(scenario.agent(name))
    if scenario.kind(name) == "broadcast":
        return {"kind": "broadcast", "name": name, "error_bytes": _errors(scenario, name)}
    if scenario.kind(name) == "fifo":
        return {"kind": "fifo", "name": name, "ecn": scenario.fifo(name).ecn}
    return {
        "kind": "switch",
        "name": name,
        "program": 0,
        "cpu_port": CPU_PORT,
        "drop_port": DROP_PORT,
        "queues": scenario.queues,
        "flow_control": {"bound": scenario.bound, "pool": scenario.pool},
    }


def _errors(scenario: model.Scenario, name: str) -> dict[str, int]:
    """Mean bytes from one bit error to the next, by neighbour."""
    ends = ((place, (link.a.node, link.b.node)) for place, link in enumerate(scenario.topology.links))
    means = ((nodes, scenario.extra(place).error_bytes) for place, nodes in ends if name in nodes)
    return {a if name == b else b: mean for (a, b), mean in means if mean is not None}


def _link(link: Link, extra: model.LinkExtra) -> dict[str, Any]:
    ends = {name: {"node": end.node, "port": end.port} for name, end in (("a", link.a), ("b", link.b))}
    return ends | {
        "rate_bps": link.spec.rate,
        "delay_ns": link.spec.delay_ns,
        "queue_packets": link.spec.queue,
        "queue_bytes": extra.queue_bytes,
        "loss": _loss(link, extra),
        "down_ns": extra.down_ns,
    }


def _loss(link: Link, extra: model.LinkExtra) -> dict[str, Any]:
    if extra.burst_loss is None:
        return {"model": "bernoulli", "loss_ppb": link.spec.loss}
    burst: dict[str, Any] = {f"{name}_ppb": value for name, value in asdict(extra.burst_loss).items()}
    return {"model": "gilbert_elliott"} | burst


def flow_ports(flows: Iterable[model.Flow]) -> dict[str, tuple[int, int]]:
    """Source and destination port of each flow: its own at both hosts, so that a port names one end."""
    at_source, at_destination = Counter[str](), Counter[str]()
    ports: dict[str, tuple[int, int]] = {}
    for flow in flows:
        source_port = _FIRST_SOURCE_PORT + at_source[flow.source]
        destination_port = _FIRST_DESTINATION_PORT + at_destination[flow.destination]
        if source_port >= _FIRST_DESTINATION_PORT or destination_port > 0xFFFF:
            raise model.ScenarioError(f"traffic.{flow.name}: the host has too many flows; use more hosts")
        at_source[flow.source] += 1
        at_destination[flow.destination] += 1
        ports[flow.name] = (source_port, destination_port)
    return ports


def _flows(flows: Sequence[model.Flow]) -> list[dict[str, Any]]:
    ports = flow_ports(flows)
    return [
        {
            "name": flow.name,
            "from": flow.source,
            "to": flow.destination,
            "source_port": ports[flow.name][0],
            "destination_port": ports[flow.name][1],
            "start_ns": flow.start_ns,
            "stop_ns": flow.stop_ns,
            "shaped_as": flow.shaped_as,
            # Rates are in 1/64 packet/s.
            "backlog": (b := flow.backlog) and {"packets": b.packets, "gain": round(64 * b.d)},
        }
        | (_udp(flow.traffic) if isinstance(flow.traffic, model.UdpTraffic) else _tcp(flow.traffic))
        for flow in flows
    ]


def _udp(traffic: model.UdpTraffic) -> dict[str, Any]:
    arrivals = traffic.arrivals
    return {
        "kind": "udp",
        "rate_bps": traffic.rate,
        "frame_bytes": traffic.packet + ETHERNET_BYTES,
        "sizes": traffic.sizes,
        "arrivals": asdict(arrivals) if arrivals.pattern == "on_off" else {"pattern": arrivals.pattern},
    }


def _messages(messages: model.Messages | None) -> dict[str, int] | None:
    return messages and {"bytes": messages.size, "period_ns": messages.period_ns}


def _tcp(traffic: model.TcpTraffic) -> dict[str, Any]:
    form: dict[str, Any] = asdict(traffic)
    renamed = {"window_packets": form.pop("window"), "bytes": form.pop("size"), "mss": traffic.mss}
    del form["packet"]  # which `mss` is of
    return form | renamed | {"kind": "tcp", "messages": _messages(traffic.messages)}
