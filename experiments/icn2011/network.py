"""Fig. 5 of the paper as a netsim scenario: topologies/fig5.yaml, with the members and the delay of a case.

What the paper leaves open, and what is chosen here, is listed in docs/icn2011.md. In short:

- A node has an output buffer of 200 packets, a sender, too: a router between the host and its link. (In ns-2
  agents sit in the node, and what TCP sends is in its queue at once.)
- A session agent is s1 or s2 with its agent host; with unicast they are ordinary P4 switches.
- A sender writes its messages into one connection that stays: unicast has one for each member.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import yaml

from experiments.icn2011.paper import MESSAGE_BYTES, PACKET_BYTES, SECONDS, Case
from groupflow import sim
from groupflow.sim.model import Kind
from groupflow.topology import Topology, parse

FIG5 = Path(__file__).resolve().parents[2] / "topologies" / "fig5.yaml"
AGENTS = ("s1", "s2")
SWITCH_OF = {"ma1": "s1", "mb1": "s1", "mc1": "s2", "md1": "s2"}
NANOSECONDS = 10**9


def scenario(case: Case, *, seconds: float = SECONDS, seed: int = 1) -> sim.Scenario:
    """One run of the case."""
    traffic = sim.TcpTraffic(
        case.tcp,
        case.window,
        packet=PACKET_BYTES,
        profile="ns2",
        messages=sim.Messages(MESSAGE_BYTES, case.period_ns),
    )
    duration_ns = round(seconds * NANOSECONDS)
    base = sim.Scenario(
        name=f"{case.method}-{case.senders}-{case.members}-{case.delay_ms}ms-{case.load}-{seed}",
        topology=topology(replace(case, method="n2n", load=0.0)),
        flows=(),
        duration_ns=duration_ns,
        sample_ns=duration_ns,
        seed=seed,
        kinds=_kinds(case),
        agents=dict.fromkeys(AGENTS, sim.AgentOptions(case.agent_pps)),
    )
    if case.method == "unicast":
        flows = tuple(
            sim.Flow(flow_name(source, member), source, member, traffic)
            for source in case.sources
            for member in case.receivers(source)
        )
        return replace(base, flows=flows)
    mode = "n2n" if case.method == "n2n" else "e2e"
    splits = tuple(
        sim.SplitSession(source, source, case.receivers(source), traffic, mode) for source in case.sources
    )
    return replace(base, splits=splits)


def flow_name(source: str, member: str) -> str:
    """Of a unicast connection."""
    return f"{source}-{member}"


def _kinds(case: Case) -> dict[str, Kind]:
    if case.method == "unicast":
        return {}  # P4 all: a plain router does not address frames to the switch after it
    kinds: dict[str, Kind] = dict.fromkeys(AGENTS, "agent")
    if case.sender_buffer:
        kinds |= dict.fromkeys(map(case.entry, case.sources), "fifo")
    return kinds


@cache
def topology(case: Case) -> Topology:
    """Fig. 5 with a case's members, delay, and output buffers of senders before their links."""
    form = cast(dict[str, Any], yaml.safe_load(FIG5.read_text()))
    members = (f"m{network}{n}" for network in "bcd" for n in range(1, case.members + 1))
    kept = {"ma1", *members, "sa1", "sa2"}
    form["hosts"] = {name: host for name, host in form["hosts"].items() if name in kept}
    links = [link for link in form["links"] if kept | set(AGENTS) >= set(link["ends"])]
    for link in links:
        if set(link["ends"]) == set(AGENTS):
            link["delay"] = f"{case.delay_ms}ms"
    for number, source in enumerate(case.sources if case.sender_buffer else (), 11):
        buffer = case.entry(source)
        form["switches"][buffer] = {"device_id": number, "grpc": 9561 + number}
        (outer,) = (link for link in links if source in link["ends"])
        outer["ends"] = [buffer if end == source else end for end in outer["ends"]]
        links.append({"ends": [source, buffer], "rate": "unlimited", "delay": 0, "queue": 1_000_000})
    form["links"] = links
    return parse(yaml.safe_dump(form, sort_keys=False), "fig5")
