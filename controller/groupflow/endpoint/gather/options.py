"""Options of gfagent's two roles in gathering."""

from dataclasses import dataclass, field
from pathlib import Path

from groupflow.endpoint.options import RoleOptions, flag


@dataclass(frozen=True, kw_only=True)
class ServeOptions(RoleOptions):
    """`gfagent gather-serve`. Sizes are bytes; None is gfagent's default."""

    role = "gather-serve"
    name: str = field(default="gather-serve", metadata=flag(None))
    clients: Path | None = None
    """JSON list of the clients that may send; None: stdin brings the list"""
    max_clients: int | None = None
    listen: str = "0.0.0.0:26490"
    out: Path | None = None
    """folder for streams; None: they are counted and thrown away"""
    tls: tuple[Path, Path] | None = field(default=None, metadata=flag(None))
    """certificate and key, PEM, made if both are missing; None: no encryption"""
    memory: int | None = None

    def arguments(self) -> list[str]:
        tls = ("--tls-cert", str(self.tls[0]), "--tls-key", str(self.tls[1])) if self.tls else ("--plain",)
        return [*super().arguments(), *tls, *(["--discard"] if self.out is None else [])]


@dataclass(frozen=True, kw_only=True)
class GatherSendOptions(RoleOptions):
    """`gfagent gather-send`."""

    role = "gather-send"
    name: str = field(metadata=flag("client"))
    """the client's name"""
    to: str
    """IP:PORT of the server"""
    file: Path | None = None
    """the file to send; None: the bytes written to gfagent's stdin"""
    duration: int | None = None
    """seconds until the stream ends, even if there is more to read"""
    congestion: str | None = None
    retry: int | None = None
    """seconds to find the server again"""
    tls_pin: str | None = None
    """SHA-256 of the server's certificate, hexadecimal; without `tls_pin` and `tls_ca`, no encryption"""
    tls_ca: Path | None = None
    """PEM of the authority that signed the server's certificate"""
    tls_name: str | None = None
    """the server's name in its certificate; None: its address"""

    def arguments(self) -> list[str]:
        plain = ["--plain"] if self.tls_pin is None and self.tls_ca is None else []
        return [*super().arguments(), *plain]
