"""Options of gfagent's two roles in gathering."""

from dataclasses import dataclass, field
from pathlib import Path

from groupflow.endpoint.options import RoleOptions, flag


@dataclass(frozen=True, kw_only=True)
class ServeOptions(RoleOptions):
    """`gfagent gather-serve`. Sizes are bytes; None is gfagent's default."""

    role = "gather-serve"
    name: str = field(default="gather-serve", metadata=flag(None))
    clients: Path
    """JSON: who may send"""
    listen: str = "0.0.0.0:26490"
    out: Path | None = None
    """folder for streams; None: they are counted and thrown away"""
    round_ms: int | None = None
    tls: tuple[Path, Path] | None = field(default=None, metadata=flag(None))
    """certificate and key, PEM, made when neither is there; None: nothing is encrypted"""
    memory: int | None = None
    buffer: int | None = None
    """bound of all windows together"""
    max_connections: int | None = None

    def arguments(self) -> list[str]:
        tls = ("--tls-cert", str(self.tls[0]), "--tls-key", str(self.tls[1])) if self.tls else ("--plain",)
        return [*super().arguments(), *tls, *(["--discard"] if self.out is None else [])]


@dataclass(frozen=True, kw_only=True)
class GatherSendOptions(RoleOptions):
    """`gfagent gather-send`."""

    role = "gather-send"
    name: str = field(metadata=flag("client"))
    """the client's"""
    to: str
    """IP:PORT"""
    file: Path | None = None
    """None: what is written to its stdin"""
    duration: int | None = None
    """seconds until the stream ends, whatever there is to read"""
    congestion: str | None = None
    retry: int | None = None
    """seconds to find the server again"""
    tls_pin: str | None = None
    """SHA-256 of the server's certificate, hexadecimal; without it and `tls_ca`, nothing is encrypted"""
    tls_ca: Path | None = None
    """PEM: who vouches for the server's certificate"""
    tls_name: str | None = None
    """the server's name in its certificate; None: its address"""
    fec: str | None = None
    """erasure coding over the connections, K+M; None: none"""

    def arguments(self) -> list[str]:
        plain = ["--plain"] if self.tls_pin is None and self.tls_ca is None else []
        return [*super().arguments(), *plain]
