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
    tls: tuple[Path, Path] | None = None
    """certificate and key, PEM, made when neither is there; None: nothing is encrypted"""
    name: str = "gather-serve"
    token: str = field(default="", repr=False)

    def arguments(self) -> list[str]:
        arguments = ["gather-serve", "--listen", self.listen, "--clients", str(self.clients), "--json"]
        arguments += ["--plain"] if self.tls is None else _tls(*self.tls)
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
    tls_pin: str | None = None
    """SHA-256 of the server's certificate, hexadecimal; without it and `tls_ca`, nothing is encrypted"""
    tls_ca: Path | None = None
    """PEM: who vouches for the server's certificate"""
    tls_name: str | None = None
    """the server's name in its certificate; None: its address"""
    fec: str | None = None
    """erasure coding over the connections, K+M; None: none"""

    def arguments(self) -> list[str]:
        arguments = ["gather-send", "--to", self.to, "--client", self.name, "--json"]
        if self.tls_pin is None and self.tls_ca is None:
            arguments += ["--plain"]
        if self.tls_pin is not None:
            arguments += ["--tls-pin", self.tls_pin]
        if self.tls_ca is not None:
            arguments += ["--tls-ca", str(self.tls_ca)]
        if self.tls_name is not None:
            arguments += ["--tls-name", self.tls_name]
        if self.file is not None:
            arguments += ["--file", str(self.file)]
        if self.duration is not None:
            arguments += ["--duration", str(self.duration)]
        if self.congestion is not None:
            arguments += ["--congestion", self.congestion]
        if self.fec is not None:
            arguments += ["--fec", self.fec]
        if self.retry is not None:
            arguments += ["--retry", str(self.retry)]
        return arguments


def _tls(certificate: Path, key: Path) -> list[str]:
    return ["--tls-cert", str(certificate), "--tls-key", str(key)]
