"""Options of gfagent's two roles in gathering."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from groupflow.agents.options import RoleOptions, TlsPin, flag
from groupflow.model import ports
from groupflow.model.fields import Help, Length, Range
from groupflow.model.values import FarIpPort, Name, OwnIpPort, Seconds


@dataclass(frozen=True, kw_only=True)
class ServeOptions(RoleOptions):
    """`gfagent gather-serve`. Sizes are bytes; None is gfagent's default."""

    role = "gather-serve"
    name: str = field(default="gather-serve", metadata=flag(None))
    token: str = field(default="", repr=False, metadata=flag(None))
    max_clients: Annotated[
        int | None,
        Help(
            "the most clients, which share the memory (default: as many as --clients has, but at least 64)",
            "N",
        ),
        Range(1),
    ] = None
    listen: Annotated[OwnIpPort, Help("address for clients")] = f"0.0.0.0:{ports.GATHER}"
    out: Annotated[Path | None, Help("folder where streams are written", "FOLDER")] = None
    """None: streams are counted and thrown away"""
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
    name: Annotated[
        str, Help("name of this client in the server's list"), Name("--client"), Length(1, 255)
    ] = field(metadata=flag("client"))
    to: Annotated[FarIpPort, Help("address of the server")]
    file: Annotated[Path | None, Help("file to send (default: stdin)")] = None
    duration: Annotated[
        Seconds | None, Help("time after which the stream ends (default: at the file's end)")
    ] = None
    congestion: Annotated[
        str | None, Help("congestion control of the kernel, e.g. reno (default: the kernel's own)")
    ] = None
    retry: Annotated[Seconds | None, Help("time to look for a lost server")] = None
    tls_pin: TlsPin = None
    """without `tls_pin` and `tls_ca`, no encryption"""
    tls_ca: Annotated[Path | None, Help("authority that signed the server's certificate, PEM")] = None
    tls_name: Annotated[str | None, Help("the server's name in its certificate (default: its address)")] = (
        None
    )

    def arguments(self) -> list[str]:
        plain = ["--plain"] if self.tls_pin is None and self.tls_ca is None else []
        return [*super().arguments(), *plain]
