"""Options of the roles of gfagent, and the command line they make."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeAlias, cast

if TYPE_CHECKING:
    from groupflow.endpoint.events import Event

Start: TypeAlias = Literal["now", "start"]


def flag(name: str | None) -> dict[str, str | None]:
    """Metadata of a field whose flag is not its own name; None: it is never on the command line."""
    return {"flag": name}


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
        """A receiver without an output file: its stdout is the data."""
        return getattr(self, "output", ...) is None

    async def settled(self, told: "Callable[[Event], None]") -> Self:
        """With what is to be found out before gfagent begins."""
        return self

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
    """of the random timers; None: from the system"""


@dataclass(frozen=True, kw_only=True)
class SendOptions(MemberOfSession):
    role = "send"
    session: int
    file: Path | None = None
    """None: what is written to its stdin"""
    datagrams: bool = False
    members: int = 1
    """start when so many receivers have joined"""
    rate: int | None = None
    """bit/s at most; None: found out"""


@dataclass(frozen=True, kw_only=True)
class RecvOptions(MemberOfSession):
    role = "recv"
    session: int
    output: Path | None = None
    """None: its stdout"""
    datagrams: bool = False
    start: Start = field(default="now", metadata=flag("from"))
    source: int | None = None
    """member id of the sender to hear; None: the controller decides"""


@dataclass(frozen=True, kw_only=True)
class MemberOptions(MemberOfSession):
    """A member whose streams come as TCP connections, to a program that listens on its host."""

    role = "member"
    session: int
    listen: int
    """TCP port"""
    start: Start = field(default="now", metadata=flag("from"))


@dataclass(frozen=True, kw_only=True)
class CacheOptions(MemberOfSession):
    role = "cache"
    max_bytes: int | None = None
    stats_ms: int | None = None
