"""Options of a host of a tree, `gfagent tree-send` and `tree-recv`, and the command line they make."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

if TYPE_CHECKING:
    from groupflow.client.events import Event

Slow: TypeAlias = Literal["wait", "isolate", "skip"]
Parallel: TypeAlias = int | Literal["auto"]
Edges: TypeAlias = Literal["stream", "quic", "datagrams"]
EDGES: tuple[Edges, ...] = ("stream", "quic", "datagrams")


@dataclass(frozen=True, kw_only=True)
class _Host:
    to: str
    """the dispatchers, IP:PORT; some of their processes with commas between"""
    name: str
    token: str = field(repr=False)
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

    def _arguments(self) -> list[str]:
        arguments = ["--to", self.to, "--name", self.name, "--json", "--slow", self.slow]
        arguments += ["--edges", self.edges] if self.edges != "stream" else []
        arguments += ["--plain"] if self.tls_pin is None else ["--tls-pin", self.tls_pin]
        for option, value in (
            ("--listen", self.listen),
            ("--children", self.children),
            ("--parallel", self.parallel),
            ("--cache", self.cache),
            ("--align", self.align),
            ("--deadline-ms", self.deadline_ms),
            ("--reorder-ms", self.reorder_ms),
            ("--patience", self.patience),
        ):
            if value is not None:
                arguments += [option, str(value)]
        return arguments


@dataclass(frozen=True, kw_only=True)
class TreeSendOptions(_Host):
    """The source."""

    file: Path | None = None
    """None: what is written to its stdin"""
    members: int = 1
    """begin when so many hosts are in the tree"""

    async def settled(self, told: "Callable[[Event], None]") -> Self:
        """It has no parent, so there is nothing to measure."""
        return replace(self, parallel=None) if self.parallel == "auto" else self

    def arguments(self) -> list[str]:
        arguments = ["tree-send", *self._arguments(), "--members", str(self.members)]
        return arguments if self.file is None else [*arguments, "--file", str(self.file)]


@dataclass(frozen=True, kw_only=True)
class TreeRecvOptions(_Host):
    """A host that receives, and passes on."""

    output: Path | None = None
    """None: its stdout"""
    start: Literal["now", "start"] = "now"

    @property
    def data_on_stdout(self) -> bool:
        return self.output is None

    def arguments(self) -> list[str]:
        output = "-" if self.output is None else str(self.output)
        return ["tree-recv", *self._arguments(), "--output", output, "--from", self.start]


def tree_member(
    role: Literal["sender", "receiver"], start: Literal["now", "start"], members: int, **host: Any
) -> TreeSendOptions | TreeRecvOptions:
    """Options of a program's host."""
    if role == "sender":
        return TreeSendOptions(members=members, **host)
    return TreeRecvOptions(start=start, **host)
