"""Requests to the session manager, and the admission of a member to a session: its token, whether it may
join, and its place among those there.

A bearer of the token may join: HMAC-SHA256 with the controller's secret, so that none needs storing.
"""

import hmac
import secrets
from collections.abc import Container
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Literal, NamedTuple, TypeAlias

from groupflow import units
from groupflow._native import Joined
from groupflow.control.sessions.model import (
    LAST_MEMBER,
    Member,
    RefusalError,
    Role,
    Session,
    SessionRecord,
    Start,
    Tcp,
)
from groupflow.model.session import DEFAULT_PREFIX
from groupflow.model.topology import Host, Topology

MAX_LISTENERS = 240
"""Most members of one TCP session: an agent takes 256 branches, some of which are other agents."""


def checked(tcp: Tcp, switches: Container[str]) -> Tcp:
    """The same settings. Raises RefusalError naming the setting that does not fit the others."""

    def refuse(text: str) -> RefusalError:
        return RefusalError("bad_request", text)

    if len(set(tcp.ports)) != len(tcp.ports):
        raise refuse(f"a port of {', '.join(map(str, tcp.ports))} is there twice; give different ones")
    if tcp.history > tcp.cache:
        raise refuse(f"a history of {tcp.history} bytes will not do; use at most the cache's {tcp.cache}")
    for switch in tcp.agents:
        if switch not in switches:
            raise refuse(f"no switch {switch!r} with an agent; list the switches")
    return tcp


def lowest_free(prefix: IPv4Network, used: Container[str]) -> str:
    """The lowest host address of the prefix that no session has. Raises RefusalError."""
    for address in prefix.hosts():
        if str(address) not in used:
            return str(address)
    raise RefusalError(
        "full", f"every address of {prefix} is taken; delete a session, or use a larger prefix"
    )


@dataclass(frozen=True)
class Options:
    """Timeouts of the controller, and settings that agents must know. Times in seconds."""

    keepalive_ms: int = 500
    member_timeout: float = 3.0
    restart_grace: float = 5.0
    """time after the start of the controller in which silent members stay members"""
    switch_grace: float = 5.0
    """time that the members behind a lost switch stay members"""
    apply_timeout: float = 10.0
    agent_token: str | None = None
    """the token of cache agents; None: an agent is known by the port it registers from"""
    cache_bytes: int = 0
    """bound of each stream's cache; 0: the agent's own bound"""
    tcp_prefix: IPv4Network = DEFAULT_PREFIX
    """prefix of the addresses of TCP sessions"""


@dataclass(frozen=True)
class JoinRequest:
    session: int
    role: Role
    host: Host
    udp_port: int
    name: str
    token: str
    start: Start = "now"
    seq: int = 0
    """the packet at which to resume"""
    source: int = 0
    """the stream wanted; 0: any"""
    former: int = 0
    """the member id that the host had before"""
    tcp_port: int = 0
    """TCP port of a listener"""
    target: int | None = None
    """the rate that a receiver states, bit/s; None: none"""

    def first(self, *, started: bool) -> int:
        """The first packet that a receiver is to deliver; 0: the first packet that arrives."""
        if self.start == "resume" and self.seq:
            return self.seq
        return 0 if started and self.start == "now" else 1


class JoinAnswer(NamedTuple):
    """The answer to a member that is taken in."""

    member: int
    source: int
    """the stream to receive, or the member's own; 0: no sender yet"""
    reply: Joined


TokenRole: TypeAlias = Literal["join", "sender", "receiver"]
"""A `join` token is good for both roles."""


def new_secret() -> str:
    return secrets.token_hex(32)


def new_salt() -> str:
    return secrets.token_hex(8)


def token(secret: str, session: SessionRecord, role: TokenRole) -> str:
    """The session's token for a role, in hexadecimal."""
    text = f"groupflow:{session.id}:{session.salt}:{role}"
    return hmac.digest(bytes.fromhex(secret), text.encode(), "sha256").hex()


def admits(secret: str, session: SessionRecord, role: Role, presented: str) -> bool:
    """Whether a token lets its bearer join in a role. Takes the same time for any wrong token."""
    candidate = presented.strip().lower().encode()
    kinds: tuple[TokenRole, TokenRole] = ("join", "receiver" if role == "listener" else role)
    good = [hmac.compare_digest(candidate, token(secret, session, kind).encode()) for kind in kinds]
    return any(good)


def check(
    session: Session, ask: JoinRequest, secret: str, topology: Topology, branches: int, now: float
) -> None:
    """Raises RefusalError where the host may not join so, now (s since 1970). `branches`: of a stream at a
    switch, the highest number."""
    if session.expired(now):
        raise RefusalError("expired", f"session {session.id} has expired")
    if not admits(secret, session.record, ask.role, ask.token):
        raise RefusalError("wrong_token", f"the token does not let a {ask.role} join session {session.id}")
    is_new = ask.role == "receiver" and ask.start != "resume"
    if is_new and ask.source and ask.source not in session.sources:
        raise RefusalError("no_source", f"session {session.id} has no stream of a member {ask.source}")
    if ask.role == "receiver":
        _check_room(session, ask, topology, branches)
    if ask.target is not None and ask.start != "resume":
        check_targets(topology, session.record, ask.host.name, ask.name, ask.target)
    if ask.role == "listener":
        _check_listener(session, ask)


def _check_room(session: Session, ask: JoinRequest, topology: Topology, branches: int) -> None:
    """Keeps room for a sender: receivers that wait for one have no branches that could be counted yet."""
    others = (session.members[number] for number in session.receivers if number != ask.former)
    here = [other for other in others if topology.hosts[other.host].switch == ask.host.switch]
    if sum((other.host, other.udp_port) != (ask.host.name, ask.udp_port) for other in here) >= branches:
        full = f"{branches} branches to receivers of session {session.id}"
        raise RefusalError("full", f"switch {ask.host.switch} has {full}, the highest number")


def _check_listener(session: Session, ask: JoinRequest) -> None:
    session.tcp()
    if not ask.tcp_port:
        raise RefusalError("bad_request", "port 0 is no port; name the one that the program listens on")
    for other in (session.members[number] for number in session.listeners):
        if (other.host, other.tcp_port) == (ask.host.name, ask.tcp_port) and other.name != ask.name:
            raise RefusalError(
                "bad_request",
                f"{other.name} is a member with port {ask.tcp_port} of {other.host} already; "
                "listen on another port",
            )
    if len(session.listeners) >= MAX_LISTENERS:
        raise RefusalError("full", f"session {session.id} has {MAX_LISTENERS} members, the highest number")


def place(session: Session, ask: JoinRequest, now: float) -> tuple[Member, Session]:
    """The new member's record, if it joins now, and the session without the members that it replaces."""
    where = (ask.host.name, ask.udp_port)
    same = [m for m in session.members.values() if ask.udp_port and (m.host, m.udp_port) == where]
    former = session.members.get(ask.former)
    if former and (former.host, former.name, former.role) == (ask.host.name, ask.name, ask.role):
        same.append(former)
    if ask.role == "listener":  # a port has one member: the process before this one is gone
        ports = (ask.host.name, ask.tcp_port)
        same += [m for m in session.members.values() if m not in same and (m.host, m.tcp_port) == ports]
    again = next((member for member in same if member.role == ask.role), None)
    if again is not None:
        number = again.id
    elif 1 <= ask.former <= LAST_MEMBER and former is None:
        number = ask.former
    else:
        number = session.next_member()
    resumes = again is not None and ask.start == "resume" and again.udp_port == ask.udp_port
    member = Member(
        session=session.id,
        id=number,
        name=ask.name or ask.host.name,
        role=ask.role,
        host=ask.host.name,
        udp_port=ask.udp_port,
        joined=again.joined if again and resumes else int(now),
        complete=again.complete if again and resumes else frozenset(),
        tcp_port=ask.tcp_port,
        start=ask.start if ask.role == "listener" else "now",
        # A process that comes back repeats its own word, which may have been changed meanwhile.
        target=again.target if again and (resumes or ask.target is None) else ask.target,
        minimum=again.minimum if again else None,
        priority=again.priority if again else 0,
    )
    if resumes:
        return member, session
    for replaced in same:
        session = session.without_member(replaced.id)
    return member, session


def process(member: Member) -> tuple[int, str, int, int]:
    """Tells a member's process from an earlier or later one."""
    return member.id, member.host, member.udp_port, member.joined


FRAME, PAYLOAD = 1514, 1448
"""bytes of a full packet on the wire, and of the stream in it"""
USABLE = 0.95 * PAYLOAD / FRAME
"""share of a link's rate that is divided: agents leave 5 % to acknowledgements and others"""


def link_rate(topology: Topology, host: str) -> int:
    """bit/s of a host's link; 0: it has no rate."""
    return topology.link_between(topology.hosts[host].switch, host).spec.rate or 0


def check_targets(
    topology: Topology, record: SessionRecord, host: str, name: str, target: int | None
) -> None:
    """Raises RefusalError if a receiver of this name at a host can have no target, or not this one."""

    def refuse(problem: str) -> None:
        raise RefusalError("bad_request", problem)

    if record.policy != "isolate":
        refuse(
            f"session {record.id} waits for its receivers (policy strict); set its policy to isolate first"
        )
    rate, switch = link_rate(topology, host), topology.hosts[host].switch
    if not rate:
        refuse(f"the link of {host} has no rate to divide; give it one in the topology")
    if topology.switches[switch].agent is None:
        problem = f"no cache agent beside {switch} can feed {name}"
        refuse(f"{problem}; give the switch one in the topology")
    if target is not None and target > rate * USABLE:
        most = units.format_rate(int(rate * USABLE))
        refuse(f"target_bps: {units.format_rate(target)} is beyond the link's {most}; write less")
