"""What is asked of the session manager, and how patient it is."""

from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import NamedTuple

from groupflow.control.sessions.model import LAST_WINDOW, RefusalError, Role, Start
from groupflow.control.sessions.tcp import DEFAULT_PREFIX
from groupflow.network.topology import Host
from groupflow.p4rt.messages import Mode, Policy


@dataclass(frozen=True)
class Options:
    """How patient the controller is, and what agents must know. Times in seconds."""

    keepalive_ms: int = 500
    member_timeout: float = 3.0
    restart_grace: float = 5.0
    """how long members are not missed after the controller starts"""
    switch_grace: float = 5.0
    """how long the members behind a lost switch stay members"""
    apply_timeout: float = 10.0
    agent_token: str | None = None
    """None: an agent is known by the port it registers from"""
    cache_bytes: int = 0
    """bound of each stream's cache; 0: the agent's own bound"""
    tcp_prefix: IPv4Network = DEFAULT_PREFIX
    """where the addresses of TCP sessions come from"""


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
    """where to resume"""
    source: int = 0
    """the stream wanted; 0: any"""
    former: int = 0
    """the member id it had before"""
    tcp_port: int = 0
    """where a listener listens"""


class JoinAnswer(NamedTuple):
    """What a member learns when it is taken in: the fields of JOINED."""

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


def known_window(window: int) -> int:
    """Raises RefusalError."""
    if not 1 <= window <= LAST_WINDOW:
        raise RefusalError("bad_request", f"window {window} is out of range; use 1 to {LAST_WINDOW} packets")
    return window
