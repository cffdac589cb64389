"""A connection of a host or an asking program to the dispatchers: one JSON object per line.

A host's first line is
`{"hello": {"join": …, "key": …, "source": bool, "delay_ms": …, "waits": bool, "root": …}}`; `delay_ms` is a
source's bound on the delay of its stream, or null; `waits`: whether the source waits for hosts that are away;
`root` is the tree that the host is in, if it is in one. Once there is a source, the answer is
`{"welcome": {"root": …, "identity": …, "alive_ms": …}}`. Every `alive_ms` the host gets `{"alive": true}`, so
that it does not wait for a process that has stopped. After the welcome both sides send
`{"cluster": …, "joins": …, "say": …, "what": …}`: messages between a host and a cluster's dispatcher
(dataplane/apps/tree/src/machine/dialogue.rs). `joins` is how often the host has joined a cluster: messages to
it with an older number do not count. The source is sent the number of hosts in the tree, and which lack bytes
of the stream: `{"members": {"hosts": …, "receiving": …, "names": […], "lost": {…}}}`.
`{"refused": {"code": …, "text": …}}` is the last line. Programs that are not hosts begin with
`{"ask": …}` instead (groupflow.tree.questions).
"""

import asyncio
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from socket import AF_INET
from ssl import SSLContext
from typing import Any, TypeAlias, TypeVar, cast

from groupflow.agents.errors import TreeError
from groupflow.errors import reason

log = logging.getLogger(__name__)

HELLO_SECONDS = 10.0
"""within which a peer must say its first word, and before that shake hands"""
LINE = 64 << 10
"""most bytes of a line"""
_UNREAD = 1 << 20
"""bytes that may wait for a host to read them; with more, it is disconnected"""
_LAST_SECONDS = 1.0
NONSENSE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""errors that malformed lines cause"""
_Key = TypeVar("_Key")
_NAME = re.compile(r"0|[1-9a-f][0-9a-f]{0,15}")


def host_name(name: object) -> str:
    """A host's name as text, in its only valid form. Raises ValueError."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ValueError("a host's name is 1 to 16 hexadecimal digits, not 0 first")
    return name


@dataclass(frozen=True)
class Line:
    """A message from a host to a cluster's dispatcher."""

    cluster: str
    joins: int
    message: str
    """JSON"""


@dataclass(eq=False)
class Connection:
    """A connection of a host or of an asking program, which is `peer` below."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    name: str = ""
    cluster: str = ""
    """cluster of the dispatcher that the peer spoke to last"""
    joins: int = 0
    """number of times the host has joined a cluster, from its last message"""
    welcome: bool = False
    """the welcome was sent, which is the peer's first message"""
    is_refused: bool = False
    dropped: bool = False
    """the connection no longer counts, and its loss does not mean that of the host, which connects again"""
    members: str = ""
    """the hosts of the tree as last sent to the peer, JSON"""

    def send(self, line: dict[str, Any]) -> None:
        if self.is_refused or self.writer.is_closing():  # with TLS it may have no buffer any more
            return
        if self.writer.transport.get_write_buffer_size() > _UNREAD:
            log.warning("host=%s reads nothing and is disconnected", self.name)
            self.writer.transport.abort()
        else:
            self.writer.write(json.dumps(line).encode() + b"\n")

    def refuse(self, code: str, text: str) -> None:
        """Sends the last line, and ignores further ones. The peer is given time to read it and to close."""
        if not self.is_refused:
            self.send({"refused": {"code": code, "text": text}})
            self.is_refused = True
            asyncio.get_running_loop().call_later(_LAST_SECONDS, self.writer.close)

    async def line(self) -> dict[str, Any] | None:
        """The peer's next line; None: the connection has ended. Raises ValueError."""
        try:
            line = await self.reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError:
            raise ValueError(f"longer than {LINE} bytes") from None
        form = json.loads(line)
        if not isinstance(form, dict):
            raise ValueError("no object")
        return cast("dict[str, Any]", form)


def gives_way(silent: Mapping[_Key, str]) -> _Key | None:
    """Of connections that have not shown who they are, oldest first, each with its source: the one that gives
    way to a newcomer. It is the oldest of the source with most, so that a source crowds itself out first."""
    counts = Counter(silent.values())
    return min(silent, key=lambda each: -counts[silent[each]], default=None)


Accept: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]


async def listen(at: tuple[str, int], accept: Accept, tls: SSLContext | None) -> asyncio.Server:
    """Listens for hosts. Raises TreeError."""
    host, port = at
    cure = "choose another with --listen"
    try:
        patience = None if tls is None else HELLO_SECONDS
        server = await asyncio.start_server(
            accept, host, port, limit=LINE, ssl=tls, ssl_handshake_timeout=patience
        )
    except OSError as error:
        # asyncio's own text names the address again.
        raise TreeError(f"cannot listen at {host}:{port}: {reason(error)}; {cure}") from None
    if not any(each.family == AF_INET for each in server.sockets):
        server.close()
        raise TreeError(f"cannot listen at {host}:{port}: hosts connect to IPv4 addresses; {cure}")
    return server


def address_of(server: asyncio.Server) -> tuple[str, int]:
    """IP and port to which hosts connect."""
    return next(each.getsockname()[:2] for each in server.sockets if each.family == AF_INET)
