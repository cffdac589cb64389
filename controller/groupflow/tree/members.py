"""Options of a host of a tree."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from groupflow.endpoint.options import RoleOptions, Start, flag

if TYPE_CHECKING:
    from groupflow.endpoint.events import Event

Slow: TypeAlias = Literal["wait", "isolate", "skip"]
Parallel: TypeAlias = int | Literal["auto"]
Edges: TypeAlias = Literal["stream", "quic", "datagrams"]
EDGES: tuple[Edges, ...] = ("stream", "quic", "datagrams")


@dataclass(frozen=True, kw_only=True)
class TreeOptions(RoleOptions):
    """What the hosts have in common. None is gfagent's default."""

    to: str
    """the dispatchers, IP:PORT; some of their processes with commas between"""
    tls_pin: str | None = None
    """SHA-256 of the tree's certificate, hexadecimal; None: nothing is encrypted"""
    listen: str | None = None
    """where children connect to, IP:PORT; None: any port"""
    children: int | None = None
    """that it serves at most"""
    parallel: Parallel | None = None
    """connections to the parent; auto: as many as are measured to be needed"""
    cache: int | None = None
    """bytes of the stream that are held"""
    slow: Slow = "wait"
    """what becomes of who is slow: all wait, it is cut off, or it skips"""
    align: int | None = None
    """bytes of a record that is skipped whole"""
    edges: Edges = "stream"
    """how data come from the parent: over TCP, over QUIC, or in QUIC's datagrams, which need slow="skip";
    over TCP where UDP is blocked"""
    deadline_ms: int | None = None
    """that a datagram waits at the parent before it is dropped"""
    reorder_ms: int | None = None
    """that a datagram is waited for when later ones are there"""
    patience: int | None = None
    """seconds to look for dispatchers that are gone"""

    async def settled(self, told: "Callable[[Event], None]") -> Self:
        """With what is to be found out before gfagent begins."""
        if self.parallel != "auto":
            return self
        from groupflow.tree.parallel import measured

        listen = (self.listen or "0.0.0.0:0").rpartition(":")[0]
        return replace(
            self,
            parallel=await measured(self.to, self.tls_pin, self.token, self.name, told, listen=listen),
        )

    def arguments(self) -> list[str]:
        return super().arguments() + (["--plain"] if self.tls_pin is None else [])


@dataclass(frozen=True, kw_only=True)
class TreeSendOptions(TreeOptions):
    """The source, `gfagent tree-send`."""

    role = "tree-send"
    file: Path | None = None
    """None: what is written to its stdin"""
    members: int = 1
    """begin when so many hosts are in the tree"""

    async def settled(self, told: "Callable[[Event], None]") -> Self:
        """It has no parent, so there is nothing to measure."""
        return replace(self, parallel=None) if self.parallel == "auto" else self


@dataclass(frozen=True, kw_only=True)
class TreeRecvOptions(TreeOptions):
    """A host that receives, and passes on: `gfagent tree-recv`."""

    role = "tree-recv"
    output: Path | None = None
    """None: its stdout"""
    start: Start = field(default="now", metadata=flag("from"))
