"""Options of gfagent's hub and rim."""

from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from groupflow.agents.options import RoleOptions, flag
from groupflow.model import ports
from groupflow.model.fields import FiniteRate, Help, Range, Size
from groupflow.model.values import FarIpPort, Millis, Name, OwnIpPort, Seconds, SessionId

Method: TypeAlias = Literal["scheduled", "unscheduled", "unicast"]
Repair: TypeAlias = Literal["go-back-n", "selective"]

HUB_HTTP = f"127.0.0.1:{ports.HUB_HTTP}"
RIM_HTTP = f"0.0.0.0:{ports.RIM_HTTP}"


@dataclass(frozen=True, kw_only=True)
class BoneOptions(RoleOptions):
    """Options that hub and rim share. None is gfagent's default."""

    folder: Annotated[Path, Help("folder of the files", "FOLDER"), Name("--dir")] = field(
        metadata=flag("dir")
    )
    http: Annotated[OwnIpPort, Help("address of the HTTP server: a hub's takes orders, a rim's serves files")]
    group: Annotated[FarIpPort | None, Help("multicast group of rims (default: 239.83.84.1:26500)")] = None
    session: Annotated[
        SessionId | None, Help("session that carries the multicast, through its switches (default: none)")
    ] = None
    iface: Annotated[
        str | None,
        Help(
            "network interface, or its address where it has several (default: the first that is up)",
            "NAME|IP",
        ),
    ] = field(default=None, metadata=flag("bind-iface"))
    seed: int | None = None
    orders: bool = False
    """take orders from stdin"""

    def arguments(self) -> list[str]:
        given = super().arguments()
        with suppress(ValueError):
            if self.iface is not None and IPv4Address(self.iface):
                given[given.index("--bind-iface")] = "--addr"
        return given


@dataclass(frozen=True, kw_only=True)
class HubOptions(BoneOptions):
    """`gfagent bone-hub`."""

    role = "bone-hub"
    http: Annotated[OwnIpPort, Help("address where the hub takes orders")] = HUB_HTTP
    everything: Annotated[
        bool, Help("also send files that are in the folder at the start"), Name("--all")
    ] = field(default=False, metadata=flag("all"))
    method: Annotated[
        Method, Help("way of sending: known rims in rounds, unknown rims in rounds, or each rim apart")
    ] = "scheduled"
    repair: Annotated[
        Repair,
        Help("packets sent again: all from the first lost one, as in the paper, or the lost ones "
             "(selective), which"
             " takes 174 s where go-back-n takes 416"),
    ] = "go-back-n"  # fmt: skip
    """figures: docs/results/amcb.md, scheduled"""
    rims: Annotated[tuple[FarIpPort, ...], Help("address of a rim, for --method unicast"), Name("--rim")] = (
        field(default=(), metadata=flag("rim"))
    )
    rate: Annotated[FiniteRate | None, Help("sending rate, with all headers (default: 1mbit)")] = None
    packet: Annotated[
        int | None, Help("file bytes in a packet, at first (default: 1000)", "BYTES"), Range(1)
    ] = None
    per_round: Annotated[int | None, Help("number of packets in a round (default: 64)", "N"), Range(1)] = None
    join_ms: Annotated[
        Millis | None, Help("time for rims to join a transfer (default: 2s)"), Name("--join-time")
    ] = None
    result_ms: Annotated[
        Millis | None, Help("time for rims to answer a round (default: 2s)"), Name("--answer-time")
    ] = None
    grace_ms: Annotated[
        Millis | None, Help("delay that a packet may have (default: 500ms)"), Name("--grace")
    ] = None
    patience: Annotated[
        int | None,
        Help("number of rounds that a rim may leave unanswered (default: 20)", "N"),
        Name("--rounds"),
        Range(1),
    ] = None
    poll_ms: int | None = None
    port: int | None = None


@dataclass(frozen=True, kw_only=True)
class RimOptions(BoneOptions):
    """`gfagent bone-rim`."""

    role = "bone-rim"
    http: Annotated[OwnIpPort, Help("address where clients get files")] = RIM_HTTP
    max_bytes: Annotated[
        Size | None, Help("bound of all files; the least recently used are removed first (default: 1GiB)")
    ] = None
    hub: Annotated[
        FarIpPort | None, Help("address of the only hub that is heard (default: any)"), Name("--to")
    ] = None
    miss_wait: Annotated[
        Seconds | None, Help("time that a client waits for the first byte of a file (default: 120s)")
    ] = None
    client_wait: int | None = None
    """seconds after which a client that reads nothing is disconnected; None: 60"""
