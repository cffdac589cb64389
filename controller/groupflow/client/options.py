"""Options of the roles of gfagent, and the command line they make."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

Role: TypeAlias = Literal["send", "recv", "member", "cache"]
Start: TypeAlias = Literal["now", "start"]


@dataclass(frozen=True, kw_only=True)
class Common:
    name: str
    """the member's name, e.g. its host's"""
    token: str = field(default="", repr=False)
    iface: str | None = None
    """bind to this interface and use its address; None: the first that is up"""
    join_timeout: float | None = None
    """seconds without an answer; None: gfagent's default"""
    seed: int | None = None
    """of the random timers; None: from the system"""

    def _arguments(self) -> list[str]:
        arguments = ["--name", self.name, "--json"]
        if self.iface is not None:
            arguments += ["--bind-iface", self.iface]
        if self.join_timeout is not None:
            arguments += ["--join-timeout", f"{self.join_timeout:g}"]
        if self.seed is not None:
            arguments += ["--seed", str(self.seed)]
        return arguments


@dataclass(frozen=True, kw_only=True)
class SendOptions(Common):
    session: int
    file: Path | None = None
    """None: what is written to its stdin"""
    datagrams: bool = False
    members: int = 1
    """start when so many receivers have joined"""
    rate: int | None = None
    """bit/s at most; None: found out"""

    def arguments(self) -> list[str]:
        arguments = [
            "send",
            "--session",
            str(self.session),
            *self._arguments(),
            "--members",
            str(self.members),
        ]
        if self.file is not None:
            arguments += ["--file", str(self.file)]
        if self.datagrams:
            arguments += ["--datagrams"]
        if self.rate is not None:
            arguments += ["--rate", str(self.rate)]
        return arguments


@dataclass(frozen=True, kw_only=True)
class RecvOptions(Common):
    session: int
    output: Path | None = None
    """None: its stdout"""
    datagrams: bool = False
    start: Start = "now"
    source: int | None = None
    """member id of the sender to hear; None: the controller decides"""

    @property
    def data_on_stdout(self) -> bool:
        return self.output is None

    def arguments(self) -> list[str]:
        arguments = ["recv", "--session", str(self.session), *self._arguments()]
        arguments += ["--output", "-" if self.output is None else str(self.output), "--from", self.start]
        if self.datagrams:
            arguments += ["--datagrams"]
        if self.source is not None:
            arguments += ["--source", str(self.source)]
        return arguments


@dataclass(frozen=True, kw_only=True)
class MemberOptions(Common):
    """A member whose streams come as TCP connections, to a program that listens on its host."""

    session: int
    listen: int
    """TCP port"""
    start: Start = "now"

    def arguments(self) -> list[str]:
        arguments = ["member", "--session", str(self.session), *self._arguments()]
        return [*arguments, "--listen", str(self.listen), "--from", self.start]


@dataclass(frozen=True, kw_only=True)
class CacheOptions(Common):
    max_bytes: int | None = None
    stats_ms: int | None = None

    def arguments(self) -> list[str]:
        arguments = ["cache", *self._arguments()]
        if self.max_bytes is not None:
            arguments += ["--max-bytes", str(self.max_bytes)]
        if self.stats_ms is not None:
            arguments += ["--stats-ms", str(self.stats_ms)]
        return arguments


AgentOptions: TypeAlias = SendOptions | RecvOptions | MemberOptions | CacheOptions
