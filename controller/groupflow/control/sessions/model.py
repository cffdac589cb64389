"""Sessions and members as immutable values, and their form in the store."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Generic, Literal, TypeAlias, TypeVar

from pydantic import TypeAdapter, ValidationError

from groupflow.errors import Error, Kind
from groupflow.model.fields import Help
from groupflow.model.session import MemberTargets, NewTcp, SessionSettings
from groupflow.store.interface import Store, StoreError

Role: TypeAlias = Literal["sender", "receiver", "listener"]
"""A listener takes a TCP session's streams as connections from its split agent."""
Start: TypeAlias = Literal["now", "start", "resume"]
RefusalCode: TypeAlias = Literal[
    "unknown_session", "wrong_token", "full", "bad_request", "no_source", "expired", "unavailable"
]
NoticeKind: TypeAlias = Literal[
    "joined", "left", "lost", "deleted", "switch_lost", "switch_back", "agent_lost", "agent_back", "complete"
]
LAST_MEMBER = 0xEFFF
"""Member ids go from 1 to this; the rest of the 16 bits is for cache agents."""


_KINDS: dict[RefusalCode, Kind] = {
    "unknown_session": Kind.NOT_FOUND,
    "no_source": Kind.NOT_FOUND,
    "wrong_token": Kind.FORBIDDEN,
    "full": Kind.CONFLICT,
    "bad_request": Kind.INVALID,
    "expired": Kind.GONE,
    "unavailable": Kind.UNAVAILABLE,
}


class RefusalError(Error):
    """A refused request: a code that hosts understand, and one line for people."""

    def __init__(self, code: RefusalCode, text: str) -> None:
        super().__init__(text, _KINDS[code])
        self.code: RefusalCode = code
        self.text = text


@dataclass(frozen=True, kw_only=True)
class Tcp(NewTcp):
    """The settings that make a session one for TCP clients."""

    address: Annotated[str, Help("IPv4 address of the session")] = ""
    """out of the controller's prefix"""


@dataclass(frozen=True, kw_only=True)
class SessionRecord(SessionSettings):
    """A session without its members."""

    id: int
    salt: str
    """makes the tokens of a session differ from those of an earlier one with the same id"""
    created: int
    """seconds since 1970"""
    expires: int | None = None
    """seconds since 1970; None: never"""
    last_member: int = 0
    """the latest member id: an id is used again as late as possible"""
    isolated: frozenset[tuple[int, int]] = frozenset()
    """(source, member): receivers too slow for the stream, fed by their switch's cache instead"""
    tcp: Tcp | None = None
    """None: no TCP client can send into the session"""


@dataclass(frozen=True)
class Member(MemberTargets):
    """A host's process in a session."""

    session: int
    id: int
    name: str
    role: Role
    host: str
    udp_port: int
    """the process's UDP port; 0: none, the member was registered over REST"""
    joined: int
    """seconds since 1970"""
    complete: frozenset[int] = frozenset()
    """the streams it has received whole"""
    tcp_port: int = 0
    """TCP port of a listener"""
    start: Start = "now"
    """the listener's first byte of a stream under way: the next, or the first of all"""


@dataclass(frozen=True)
class Session:
    record: SessionRecord
    members: Mapping[int, Member] = field(default_factory=dict[int, Member])

    @property
    def id(self) -> int:
        return self.record.id

    @property
    def sources(self) -> tuple[int, ...]:
        """Ids of the members that send, each the source of one stream."""
        return tuple(sorted(member.id for member in self.members.values() if member.role == "sender"))

    @property
    def receivers(self) -> tuple[int, ...]:
        return tuple(sorted(member.id for member in self.members.values() if member.role == "receiver"))

    @property
    def listeners(self) -> tuple[int, ...]:
        """Ids of the members that take TCP streams."""
        return tuple(sorted(member.id for member in self.members.values() if member.role == "listener"))

    def tcp(self, code: RefusalCode = "bad_request") -> Tcp:
        """Its settings for TCP clients. Raises RefusalError where it has none."""
        if self.record.tcp is None:
            cure = "`groupflow session create --tcp-port` makes one that does"
            raise RefusalError(code, f"session {self.id} carries no TCP; {cure}")
        return self.record.tcp

    def with_member(self, member: Member) -> "Session":
        return replace(self, members={**self.members, member.id: member})

    def without_member(self, member: int) -> "Session":
        members = {key: value for key, value in self.members.items() if key != member}
        isolated = frozenset(pair for pair in self.record.isolated if member not in pair)
        return Session(replace(self.record, isolated=isolated), members)

    def isolated_from(self, member: int) -> set[int]:
        """The sources for whose streams a receiver is too slow."""
        return {source for source, isolated in self.record.isolated if isolated == member}

    def expired(self, now: float) -> bool:
        return self.record.expires is not None and now >= self.record.expires

    def next_member(self) -> int:
        """A free member id. Raises RefusalError."""
        for step in range(LAST_MEMBER):
            member = (self.record.last_member + step) % LAST_MEMBER + 1
            if member not in self.members:
                return member
        raise RefusalError("full", f"session {self.id} has {LAST_MEMBER} members already")


_T = TypeVar("_T")


@dataclass(frozen=True)
class Codec(Generic[_T]):
    """Keys and form of one kind of value in the store."""

    folder: str
    kind: TypeAdapter[_T]

    def key(self, *path: object) -> str:
        return "/".join((self.folder, *map(str, path)))

    def dump(self, value: _T) -> str:
        return self.kind.dump_json(value).decode()

    async def all(self, store: Store, *path: object) -> list[_T]:
        """The values in a store whose keys begin with a path. Raises StoreError."""
        items = await store.items(self.key(*path, ""))
        return [self.load(key, text) for key, text in items.items()]

    def load(self, key: str, text: str) -> _T:
        """The value of a text in the store. Raises StoreError naming the key."""
        try:
            return self.kind.validate_json(text)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"])) or "value"
            problem = error.errors()[0]["msg"].lower()
            raise StoreError(f"{key}: {where}: {problem}; delete the store to begin anew") from None


SESSIONS = Codec("sessions", TypeAdapter(SessionRecord))
MEMBERS = Codec("members", TypeAdapter(Member))
