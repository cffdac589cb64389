"""Options of gfagent's hub and rim, and the command line they make."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

Method: TypeAlias = Literal["scheduled", "unscheduled", "unicast"]
Repair: TypeAlias = Literal["go-back-n", "selective", "erasure"]

METHODS: tuple[Method, ...] = ("scheduled", "unscheduled", "unicast")
REPAIRS: tuple[Repair, ...] = ("go-back-n", "selective", "erasure")
HUB_HTTP = "127.0.0.1:26502"
RIM_HTTP = "0.0.0.0:26503"


@dataclass(frozen=True, kw_only=True)
class BoneOptions:
    """What hub and rim have in common. None is gfagent's default."""

    name: str
    folder: Path
    http: str
    """HOST:PORT of the HTTP server"""
    group: str | None = None
    """multicast IP:PORT where rims listen"""
    session: int | None = None
    """multicast in this session, through its switches"""
    token: str = field(default="", repr=False)
    iface: str | None = None
    address: str | None = None
    """own IPv4 address, where the interface has several"""
    seed: int | None = None

    def common_arguments(self) -> list[str]:
        arguments = ["--name", self.name, "--dir", str(self.folder), "--http", self.http, "--json"]
        return arguments + optional(
            ("--group", self.group),
            ("--session", self.session),
            ("--bind-iface", self.iface),
            ("--addr", self.address),
            ("--seed", self.seed),
        )


@dataclass(frozen=True, kw_only=True)
class HubOptions(BoneOptions):
    """`gfagent bone-hub`."""

    http: str = HUB_HTTP
    everything: bool = False
    """send what is in the folder at the start, too"""
    method: Method = "scheduled"
    repair: Repair = "selective"
    rims: Sequence[str] = ()
    """of unicast, IP:PORT each"""
    rate: int | None = None
    """bit/s that packets fill, with all headers"""
    packet: int | None = None
    """bytes of a file in a packet"""
    per_round: int | None = None
    join_ms: int | None = None
    result_ms: int | None = None
    grace_ms: int | None = None
    patience: int | None = None
    """rounds that a rim may leave unanswered"""
    poll_ms: int | None = None
    port: int | None = None

    def arguments(self) -> list[str]:
        arguments = ["bone-hub", *self.common_arguments(), "--method", self.method, "--repair", self.repair]
        if self.everything:
            arguments.append("--all")
        for rim in self.rims:
            arguments += ["--rim", rim]
        return arguments + optional(
            ("--rate", self.rate),
            ("--packet", self.packet),
            ("--per-round", self.per_round),
            ("--join-ms", self.join_ms),
            ("--result-ms", self.result_ms),
            ("--grace-ms", self.grace_ms),
            ("--patience", self.patience),
            ("--poll-ms", self.poll_ms),
            ("--port", self.port),
        )


@dataclass(frozen=True, kw_only=True)
class RimOptions(BoneOptions):
    """`gfagent bone-rim`."""

    http: str = RIM_HTTP
    max_bytes: int | str | None = None
    """of the store, e.g. 64MiB"""
    hub: str | None = None
    """IP:PORT of the only hub that is heard"""
    miss_wait: int | None = None
    """seconds that a client waits for a file to begin to come"""
    client_wait: int | None = None
    """seconds until a client is let go that takes nothing of what it is sent"""

    def arguments(self) -> list[str]:
        return [
            *("bone-rim", *self.common_arguments()),
            *optional(
                ("--max-bytes", self.max_bytes),
                ("--hub", self.hub),
                ("--miss-wait", self.miss_wait),
                ("--client-wait", self.client_wait),
            ),
        ]


def optional(*options: tuple[str, object]) -> list[str]:
    """Those that have a value."""
    return [word for name, value in options if value is not None for word in (name, str(value))]
