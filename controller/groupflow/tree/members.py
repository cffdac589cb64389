"""Options of a host of a tree."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from groupflow.endpoint.options import RoleOptions, Start, flag

Slow: TypeAlias = Literal["wait", "isolate", "skip"]
Edges: TypeAlias = Literal["stream", "quic", "datagrams"]
EDGES: tuple[Edges, ...] = ("stream", "quic", "datagrams")


@dataclass(frozen=True, kw_only=True)
class TreeOptions(RoleOptions):
    """Options that all hosts share. None is gfagent's default."""

    to: str
    """IP:PORT of the dispatchers"""
    tls_pin: str | None = None
    """SHA-256 of the tree's certificate, hexadecimal; None: no encryption"""
    listen: str | None = None
    """IP:PORT to which children connect; None: any port"""
    children: int | None = None
    """the most children that this host serves"""
    parallel: int | None = None
    """connections to the parent"""
    cache: int | None = None
    """bytes of the stream that this host holds"""
    slow: Slow = "wait"
    """treatment of a slow child: all wait, it is cut off, or it skips data"""
    align: int | None = None
    """bytes of a record, which is skipped as a whole"""
    edges: Edges = "stream"
    """transport from the parent: TCP; QUIC; or QUIC's datagrams, which need slow='skip'"""
    deadline_ms: int | None = None
    """age at which the parent drops a datagram that waits"""
    reorder_ms: int | None = None
    """wait for a datagram when later datagrams are there"""
    patience: int | None = None
    """seconds to look for lost dispatchers"""

    def arguments(self) -> list[str]:
        return super().arguments() + (["--plain"] if self.tls_pin is None else [])


@dataclass(frozen=True, kw_only=True)
class TreeSendOptions(TreeOptions):
    """The source, `gfagent tree-send`."""

    role = "tree-send"
    file: Path | None = None
    """the file to send; None: the bytes written to gfagent's stdin"""
    members: int = 1
    """number of hosts that must have joined before the source begins"""
    delay_ms: float | None = None
    """bound on each host's one-way delay from the source; None: the dispatchers' default"""


@dataclass(frozen=True, kw_only=True)
class TreeRecvOptions(TreeOptions):
    """A host that receives, and passes on: `gfagent tree-recv`."""

    role = "tree-recv"
    output: Path | None = None
    """the file to write; None: gfagent's stdout"""
    start: Start = field(default="now", metadata=flag("from"))
