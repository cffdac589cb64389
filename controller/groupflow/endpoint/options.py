"""Options of gfagent's roles, as its command line."""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias, cast

Start: TypeAlias = Literal["now", "start"]


def flag(name: str | None) -> dict[str, str | None]:
    """Metadata of a field whose flag has another name; `name` None: it is never on the command line."""
    return {"flag": name}


def own_name() -> str:
    """The name of this host: that of the node whose network this process runs in, or the machine's."""
    return os.environ.get("GROUPFLOW_NAME") or socket.gethostname()


@dataclass(frozen=True, kw_only=True)
class RoleOptions:
    """Options of a role of gfagent: each field is a flag, left out where it is None or False."""

    role: ClassVar[str]
    """gfagent's subcommand"""
    name: str
    """the member's name, e.g. its host's"""
    token: str = field(default="", repr=False, metadata=flag(None))  # every user can read a command line

    @property
    def data_on_stdout(self) -> bool:
        """Whether stdout is the data: of a receiver without an output file."""
        return getattr(self, "output", ...) is None

    def arguments(self) -> list[str]:
        return [self.role, *self._flags(), "--json"]

    def _flags(self) -> Iterator[str]:
        for each in fields(self):
            name = each.metadata.get("flag", each.name.replace("_", "-"))
            value: object = getattr(self, each.name)
            for one in cast("tuple[object, ...]", value) if isinstance(value, tuple | list) else (value,):
                if name is not None and one is not None and one is not False:
                    yield f"--{name}"
                    if one is not True:
                        yield str(one)


@dataclass(frozen=True, kw_only=True)
class MemberOfSession(RoleOptions):
    """Options that all roles of sessions have."""

    iface: str | None = field(default=None, metadata=flag("bind-iface"))
    """bind to this interface and use its address; None: the first that is up"""
    join_timeout: int | None = None
    """seconds without an answer; None: gfagent's default"""
    seed: int | None = None
    """seed of the random timers; None: from the system"""


@dataclass(frozen=True, kw_only=True)
class SendOptions(MemberOfSession):
    role = "send"
    session: int
    file: Path | None = None
    """the file to send; None: the bytes written to gfagent's stdin"""
    datagrams: bool = False
    members: int = 1
    """number of receivers that must have joined before the sender begins"""
    rate: int | None = None
    """highest rate in bit/s; None: found out"""


@dataclass(frozen=True, kw_only=True)
class RecvOptions(MemberOfSession):
    role = "recv"
    session: int
    output: Path | None = None
    """the file to write; None: gfagent's stdout"""
    datagrams: bool = False
    start: Start = field(default="now", metadata=flag("from"))
    source: int | None = None
    """member id of the sender to hear; None: the controller decides"""
    target: int | None = None
    """rate wanted from a session that isolates, bit/s; None: none"""


@dataclass(frozen=True, kw_only=True)
class MemberOptions(MemberOfSession):
    """A member whose streams come as TCP connections, to a program that listens on its host."""

    role = "member"
    session: int
    listen: int
    """TCP port of the program"""
    start: Start = field(default="now", metadata=flag("from"))


@dataclass(frozen=True, kw_only=True)
class CacheOptions(MemberOfSession):
    role = "cache"
    max_bytes: int | None = None
    stats_ms: int | None = None
