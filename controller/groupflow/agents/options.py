"""Options of gfagent's roles, as its command line."""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeAlias, cast

from groupflow.model.fields import FiniteRate, Help, Length, Port, Range, matching
from groupflow.model.values import Name, Secret, SessionId

Start: TypeAlias = Literal["now", "start"]
START = Help("first byte: of the bytes sent from now on, or the oldest that is kept")


def flag(name: str | None) -> dict[str, str | None]:
    """Metadata of a field whose flag has another name; `name` None: it is never on the command line."""
    return {"flag": name}


def own_name() -> str:
    """The name of this host: that of the node whose network this process runs in, or the machine's."""
    return os.environ.get("GROUPFLOW_NAME") or socket.gethostname()


TlsPin: TypeAlias = Annotated[
    str | None, matching("[0-9A-Fa-f:]{64,95}", "64 hexadecimal digits, which the server prints at its start")
]
"""SHA-256 of a server's certificate"""


@dataclass(frozen=True, kw_only=True)
class RoleOptions:
    """Options of a role of gfagent: each field is a flag, left out where it is None or False.

    A field with a `Help` is an option of `groupflow`, too.
    """

    role: ClassVar[str]
    """gfagent's subcommand"""
    name: Annotated[str, Help("name of this host in events (default: the host's own)"), Length(1, 255)] = (
        field(default_factory=own_name)
    )
    token: Annotated[str, Help("file with the token"), Secret()] = field(
        default="", repr=False, metadata=flag(None)
    )

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

    iface: Annotated[
        str | None, Help("network interface, whose address is used (default: the first that is up)")
    ] = field(default=None, metadata=flag("bind-iface"))
    join_timeout: Annotated[int | None, Range(1)] = None
    """seconds without an answer after which joining fails; None: 10"""
    seed: int | None = None
    """seed of the random timers; None: from the system"""


@dataclass(frozen=True, kw_only=True)
class SendOptions(MemberOfSession):
    role = "send"
    session: Annotated[SessionId, Help("number of the session")]
    file: Annotated[Path | None, Help("file to send (default: stdin)")] = None
    datagrams: bool = False
    members: Annotated[
        int, Help("number of receivers that must have joined before the stream begins", "N"), Range(1)
    ] = 1
    rate: Annotated[FiniteRate | None, Help("highest sending rate (default: found out)")] = None


@dataclass(frozen=True, kw_only=True)
class RecvOptions(MemberOfSession):
    role = "recv"
    session: Annotated[SessionId, Help("number of the session")]
    output: Annotated[Path | None, Help("file to write (default: stdout)")] = None
    datagrams: bool = False
    start: Annotated[Start, START, Name("--from")] = field(default="now", metadata=flag("from"))
    source: Annotated[
        int | None,
        Help("member to receive from, if several send (default: the controller decides)", "MEMBER"),
    ] = None
    target: Annotated[FiniteRate | None, Help("rate wanted from a session that isolates (default: none)")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class MemberOptions(MemberOfSession):
    """A member whose streams come as TCP connections, to a program that listens on its host."""

    role = "member"
    session: Annotated[SessionId, Help("number of the session")]
    listen: Annotated[Port, Help("TCP port where the program listens", "PORT")]
    start: Annotated[Start, START, Name("--from")] = field(default="now", metadata=flag("from"))


@dataclass(frozen=True, kw_only=True)
class CacheOptions(MemberOfSession):
    role = "cache"
    max_bytes: int | None = None
    stats_ms: int | None = None
