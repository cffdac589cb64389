"""Cache agents: the registered agents, and the streams that each is told to cache."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from pydantic import TypeAdapter

from groupflow._native import Delegated
from groupflow.control.sessions.model import Codec, Session
from groupflow.control.sessions.numbers import Stream
from groupflow.control.sessions.post import Post
from groupflow.control.sessions.replication import Neighbour, Node, lowest_branch_rate
from groupflow.model.session import Mode, Policy
from groupflow.model.topology import Topology

FIRST_AGENT_ID = 0xF000
"""An agent's member id is this plus its switch's device id; members of sessions have lower ones."""


@dataclass(frozen=True)
class Agent:
    """A cache agent that has registered."""

    switch: str
    host: str
    udp_port: int
    name: str
    id: int
    joined: int
    """seconds since 1970"""
    full: bool = False
    """the agent has reported that its byte bound is reached"""


AGENTS = Codec("agents", TypeAdapter(Agent))


class Share(NamedTuple):
    """The most that an agent feeds to a receiver."""

    rate: int
    """bit/s of payload"""
    bytes: int
    """payload that may wait for the receiver at a time, at most 2^32 - 1"""


Receiver: TypeAlias = tuple[int, int]
"""a session and a member"""


class Delegation(NamedTuple):
    """An order to an agent about a stream."""

    session: int
    source: int
    active: bool
    mode: Mode
    policy: Policy
    window: int
    branches: int
    max_bytes: int
    rate: int
    shares: tuple[dict[str, Any], ...]
    """address, port, rate and bytes of receivers that have a share"""


class Caching:
    """The agents that have registered, and the orders that each was given."""

    def __init__(self, topology: Topology, post: Post, max_bytes: int) -> None:
        self.agents: dict[str, Agent] = {}
        """by switch"""
        self.shares: dict[Receiver, Share] = {}
        """of all streams of a receiver together"""
        self._max_bytes = max_bytes
        self._bounds: dict[str, int] = {}
        """bounds that were set, by agents' names"""
        self._topology = topology
        self._post = post
        self._told: dict[tuple[str, Stream], Delegation] = {}

    @property
    def neighbours(self) -> Mapping[str, Neighbour]:
        """The agents as neighbours of their switches."""
        return {switch: Neighbour(agent.host, agent.udp_port) for switch, agent in self.agents.items()}

    def max_bytes(self, switch: str) -> int:
        """Bound of each stream's cache at an agent; 0: the agent's own."""
        return self._bounds.get(self.agents[switch].name, self._max_bytes)

    def bound(self, name: str, max_bytes: int | None) -> None:
        """Sets the bound of the agents of this name, also for streams under way; None: as for all."""
        self._bounds.pop(name, None)
        if max_bytes is not None:
            self._bounds[name] = max_bytes
        for (switch, stream), told in list(self._told.items()):
            if self.agents[switch].name == name:
                delegation = told._replace(max_bytes=self.max_bytes(switch))
                self._told[switch, stream] = delegation
                self._tell(switch, delegation, 0)

    def agent_id(self, switch: str) -> int:
        return FIRST_AGENT_ID + self._topology.switches[switch].device_id

    def add(self, agent: Agent) -> None:
        """Registers a new process of an agent, which has no orders yet."""
        self.remove(agent.switch)
        self.agents[agent.switch] = agent

    def remove(self, switch: str) -> None:
        self.agents.pop(switch, None)
        for told in [told for told in self._told if told[0] == switch]:
            del self._told[told]

    def repeat(self) -> None:
        """Tells the agents all orders that hold once more: a packet to them may have been lost."""
        for (switch, _), told in self._told.items():
            self._tell(switch, told, 0)

    def announce(self, session: Session, stream: Stream, tree: Mapping[str, Node]) -> None:
        """Tells each agent the news about a stream; an empty tree: the stream is over."""
        for switch in self.agents:
            node = tree.get(switch)
            delegation = self._delegation(session, stream, switch, node if node and node.agent else None)
            told = self._told.get((switch, stream))
            if delegation == told or (told is None and not delegation.active):
                continue
            if delegation.active:
                self._told[switch, stream] = delegation
            else:
                del self._told[switch, stream]
            self._tell(switch, delegation, 0)

    def answer(self, switch: str, stream: Stream, request_id: int) -> bool:
        """Answers an agent's QUERY. False: the agent is not to cache the stream."""
        delegation = self._told.get((switch, stream))
        if delegation is not None:
            self._tell(switch, delegation, request_id)
        return delegation is not None

    def _delegation(self, session: Session, stream: Stream, switch: str, node: Node | None) -> Delegation:
        return Delegation(
            session=stream.session,
            source=stream.source,
            active=node is not None,
            mode=session.record.mode,
            policy=session.record.policy,
            window=session.record.window,
            branches=len(node.branches) if node else 0,
            max_bytes=self.max_bytes(switch),
            rate=lowest_branch_rate(self._topology, node) if node else 0,
            shares=tuple(self._shares(session, node)) if node else (),
        )

    def _shares(self, session: Session, node: Node) -> Iterator[dict[str, Any]]:
        """The shares of isolated receivers: the others get the group's copies too."""
        for branch in node.branches:
            if branch.isolated and (session.id, branch.member) in self.shares:
                share, member = self.shares[session.id, branch.member], session.members[branch.member]
                streams = max(1, len(session.isolated_from(member.id) - member.complete))
                to = f"{self._topology.hosts[member.host].ip}:{member.udp_port}"
                yield {"to": to, "rate": share.rate // streams, "bytes": share.bytes // streams}

    def _tell(self, switch: str, delegation: Delegation, request_id: int) -> None:
        agent = self.agents[switch]
        self._post.send(
            self._topology.hosts[agent.host],
            agent.udp_port,
            Delegated(**delegation._asdict()),
            session=delegation.session,
            source=delegation.source,
            member=agent.id,
            request_id=request_id,
        )
