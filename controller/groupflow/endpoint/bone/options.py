"""Options of gfagent's hub and rim."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from groupflow.endpoint.options import RoleOptions, flag

Method: TypeAlias = Literal["scheduled", "unscheduled", "unicast"]
Repair: TypeAlias = Literal["go-back-n", "selective"]

METHODS: tuple[Method, ...] = ("scheduled", "unscheduled", "unicast")
REPAIRS: tuple[Repair, ...] = ("go-back-n", "selective")
HUB_HTTP = "127.0.0.1:26502"
RIM_HTTP = "0.0.0.0:26503"


@dataclass(frozen=True, kw_only=True)
class BoneOptions(RoleOptions):
    """Options that hub and rim share. None is gfagent's default."""

    folder: Path = field(metadata=flag("dir"))
    http: str
    """HOST:PORT of the HTTP server"""
    group: str | None = None
    """multicast IP:PORT at which rims listen"""
    session: int | None = None
    """id of the session that carries the multicast, through its switches"""
    iface: str | None = field(default=None, metadata=flag("bind-iface"))
    address: str | None = field(default=None, metadata=flag("addr"))
    """the program's own IPv4 address, where the interface has several"""
    seed: int | None = None
    orders: bool = False
    """take orders from stdin"""


@dataclass(frozen=True, kw_only=True)
class HubOptions(BoneOptions):
    """`gfagent bone-hub`."""

    role = "bone-hub"
    http: str = HUB_HTTP
    everything: bool = field(default=False, metadata=flag("all"))
    """also send files that are in the folder at the start"""
    method: Method = "scheduled"
    repair: Repair = "go-back-n"
    rims: tuple[str, ...] = field(default=(), metadata=flag("rim"))
    """IP:PORT of each rim, for unicast"""
    rate: int | None = None
    """bit/s of the packets, with all headers"""
    packet: int | None = None
    """file bytes in a packet"""
    per_round: int | None = None
    join_ms: int | None = None
    result_ms: int | None = None
    grace_ms: int | None = None
    patience: int | None = None
    """rounds that a rim may leave unanswered"""
    poll_ms: int | None = None
    port: int | None = None


@dataclass(frozen=True, kw_only=True)
class RimOptions(BoneOptions):
    """`gfagent bone-rim`."""

    role = "bone-rim"
    http: str = RIM_HTTP
    max_bytes: int | str | None = None
    """bound of the store, e.g. 64MiB"""
    hub: str | None = None
    """IP:PORT of the only hub that is heard"""
    miss_wait: int | None = None
    """seconds that a client waits for the first byte of a file"""
    client_wait: int | None = None
    """seconds until a client that reads nothing is disconnected"""
