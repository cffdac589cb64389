"""Split sessions in the core's form: a TCP flow for each hop of a session's tree, a relay for each
node that passes a stream on."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from groupflow.sim.model import Flow, Scenario, ScenarioError, SplitSession


def agent_hosts(scenario: Scenario) -> set[str]:
    """The hosts that are one node with their switch. Raises ScenarioError for an agent without a host."""
    hosts: set[str] = set()
    for switch in scenario.topology.switches.values():
        if scenario.kind(switch.name) == "agent":
            if switch.agent is None:
                raise ScenarioError(f"switches.{switch.name}.agent: missing; an agent has its host's address")
            hosts.add(switch.agent)
    return hosts


def split_flows(scenario: Scenario) -> tuple[list[Flow], list[dict[str, Any]]]:
    """The connections of all split sessions, and the relays at agents. Raises ScenarioError."""
    flows: list[Flow] = []
    relays: list[dict[str, Any]] = []
    for session in scenario.splits:
        flows += session_flows(scenario, session)
        tree = _tree(scenario, session)
        upstream = {receiver: sender for sender, receivers in tree.items() for receiver in receivers}
        relays += [
            {
                "upstream": session.hop(upstream[agent], agent),
                "branches": [session.hop(agent, receiver) for receiver in receivers],
                "mode": session.mode,
                "cache_bytes": session.cache_bytes,
            }
            for agent, receivers in tree.items()
            if agent != session.source
        ]
    return flows, relays


def session_flows(scenario: Scenario, session: SplitSession) -> list[Flow]:
    """The connections of one split session. Raises ScenarioError."""
    tree = _tree(scenario, session)
    return [_hop(session, sender, receiver) for sender, receivers in tree.items() for receiver in receivers]


def _hop(session: SplitSession, sender: str, receiver: str) -> Flow:
    first = sender == session.source
    traffic = session.traffic if first else replace(session.traffic, size=None, messages=None)
    name = session.hop(sender, receiver)
    return Flow(name, sender, receiver, traffic, session.start_ns, shaped_as=session.shaped_as.get(name))


def _tree(scenario: Scenario, session: SplitSession) -> dict[str, list[str]]:
    """The nodes to which the source and each agent on the way, or member of the overlay, send. Raises
    ScenarioError."""
    tree: dict[str, list[str]] = {}
    if session.overlay:
        for member in session.destinations:
            if member not in session.overlay:
                raise ScenarioError(f"splits.{session.name}.overlay: nobody sends to {member}; name a host")
            tree.setdefault(session.overlay[member], []).append(member)
        return tree
    for member in session.destinations:
        way = [session.source, *_agents(scenario, session, member), member]
        if len(way) == 2:
            raise ScenarioError(f"splits.{session.name}: no agent between {session.source} and {member}")
        for sender, receiver in pairwise(way):
            receivers = tree.setdefault(sender, [])
            if receiver not in receivers:
                receivers.append(receiver)
    if len(tree[session.source]) > 1:
        raise ScenarioError(
            f"splits.{session.name}: the source sends to {' and '.join(tree[session.source])}; its connection"
            " has one end, so let all ways begin at one agent"
        )
    return tree


def _agents(scenario: Scenario, session: SplitSession, member: str) -> Iterator[str]:
    hosts = scenario.topology.hosts
    for name in (session.source, member):
        if name not in hosts:
            raise ScenarioError(
                f"splits.{session.name}: unknown host {name!r}; name one of {', '.join(hosts)}"
            )
    path = scenario.topology.path(hosts[session.source].switch, hosts[member].switch)
    if path is None:
        raise ScenarioError(f"splits.{session.name}: {member} cannot be reached from {session.source}")
    return (switch for switch in path if scenario.kind(switch) == "agent")
