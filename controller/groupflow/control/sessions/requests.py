"""Requests to the session manager, and its options."""

from collections.abc import Container
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import NamedTuple

from groupflow.control.sessions.model import RefusalError, Role, Start, Tcp
from groupflow.model.session import Mode, Policy
from groupflow.model.topology import Host

DEFAULT_PREFIX = IPv4Network("10.200.0.0/16")
"""Addresses of TCP sessions. Agents own the whole prefix; switches refuse addresses that no session has."""

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
    """The answer to a member that is taken in: the fields of JOINED."""

    member: int
    source: int
    """the stream to receive, or the member's own; 0: no sender yet"""
    window: int
    rate: int
    """bit/s of the slowest link of the tree; 0: not known"""
    mode: Mode
    policy: Policy
    keepalive_ms: int
    receivers: int
    start_seq: int
    """the first packet to deliver; 0: the first one seen"""
