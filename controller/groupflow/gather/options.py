"""Options of gfagent's two roles in gathering, and the command line they make."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """`gfagent gather-serve`. Sizes are bytes; None is gfagent's default."""

    clients: Path
    """JSON: who may send"""
    listen: str = "0.0.0.0:26490"
    out: Path | None = None
    """folder for streams; None: they are counted and thrown away"""
    buffer: int | None = None
    """bound of all windows together"""
    max_connections: int | None = None
    memory: int | None = None
    round_ms: int | None = None
    name: str = "gather-serve"
    token: str = field(default="", repr=False)

    def arguments(self) -> list[str]:
        arguments = ["gather-serve", "--listen", self.listen, "--clients", str(self.clients), "--json"]
        arguments += ["--discard"] if self.out is None else ["--out", str(self.out)]
        for option, value in (
            ("--buffer", self.buffer),
            ("--max-connections", self.max_connections),
            ("--memory", self.memory),
            ("--round-ms", self.round_ms),
        ):
            if value is not None:
                arguments += [option, str(value)]
        return arguments


@dataclass(frozen=True, kw_only=True)
class SendOptions:
    """`gfagent gather-send`."""

    to: str
    """IP:PORT"""
    name: str
    """the client's"""
    token: str = field(repr=False)
    file: Path | None = None
    """None: what is written to its stdin"""
    duration: int | None = None
    """seconds until the stream ends, whatever there is to read"""
    congestion: str | None = None
    retry: int | None = None
    """seconds to find the server again"""

    def arguments(self) -> list[str]:
        arguments = ["gather-send", "--to", self.to, "--client", self.name, "--json"]
        if self.file is not None:
            arguments += ["--file", str(self.file)]
        if self.duration is not None:
            arguments += ["--duration", str(self.duration)]
        if self.congestion is not None:
            arguments += ["--congestion", self.congestion]
        if self.retry is not None:
            arguments += ["--retry", str(self.retry)]
        return arguments
