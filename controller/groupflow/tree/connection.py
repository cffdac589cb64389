"""A connection of a host, or of a program that asks, to the dispatchers: a JSON object a line."""

import asyncio
import json
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from socket import AF_INET
from ssl import SSLContext
from typing import Any, TypeAlias, cast

from groupflow.tree.errors import TreeError

log = logging.getLogger(__name__)

LINE = 64 << 10
"""bytes of a line at most"""
_UNREAD = 1 << 20
"""bytes that a host has not read: with more, it is let go"""
_LAST_SECONDS = 1.0
NONSENSE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""what comes of lines that make none"""
_NAME = re.compile(r"0|[1-9a-f][0-9a-f]{0,15}")


def host_name(name: object) -> str:
    """A host has one name, and no other is the same. Raises ValueError."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ValueError("a host's name is 1 to 16 hexadecimal digits, not 0 first")
    return name


@dataclass(frozen=True)
class Line:
    """What a host says to a cluster's dispatcher."""

    cluster: str
    joins: int
    only_alive: bool
    """nothing but that it is there"""
    message: str
    """JSON"""


@dataclass(eq=False)
class Connection:
    """A connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    name: str = ""
    cluster: str = ""
    """whose dispatcher it spoke to last"""
    joins: int = 0
    """as it said last"""
    lost: frozenset[str] = frozenset()
    """processes that it does not reach"""
    held: list[Line] = field(default_factory=list[Line])
    """what it said for one of those, until another goes on for that"""
    waits_until: float = 0.0
    greeted: float = 0.0
    """when it had said who it is"""
    welcome: bool = False
    """it was told that it is; the first that it hears"""
    root: str = ""
    """of the tree, as it was told then"""
    over: bool = False
    dropped: bool = False
    """it is not gone: it comes back, here or to another process"""
    counted: int | None = None
    """hosts in the tree, as it was told"""

    @property
    def address(self) -> str:
        """It comes from there."""
        return str(self.writer.get_extra_info("peername")[0])

    def say(self, line: dict[str, Any]) -> None:
        if self.writer.is_closing():  # with TLS it may have no buffer any more
            return
        if self.writer.transport.get_write_buffer_size() > _UNREAD:
            log.warning("host=%s reads nothing: it is let go", self.name)
            self.writer.transport.abort()
        else:
            self.writer.write(json.dumps(line).encode() + b"\n")

    def refuse(self, code: str, text: str) -> None:
        """The last word; what it says besides is not heard. It is given time to read that and to close."""
        if not self.over:
            self.over = True
            self.say({"refused": {"code": code, "text": text}})
            asyncio.get_running_loop().call_later(_LAST_SECONDS, self.writer.close)

    async def line(self) -> dict[str, Any] | None:
        """The next; None: there is none. Raises ValueError."""
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


Accept: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]


async def listen(at: tuple[str, int], accept: Accept, tls: SSLContext | None) -> asyncio.Server:
    """For hosts. Raises TreeError."""
    host, port = at
    cure = "choose another with --listen"
    try:
        server = await asyncio.start_server(accept, host, port, limit=LINE, ssl=tls)
    except OSError as error:
        # asyncio's own text names the address again.
        reason = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
        raise TreeError(f"cannot listen at {host}:{port}: {reason}; {cure}") from None
    if not any(each.family == AF_INET for each in server.sockets):
        server.close()
        raise TreeError(f"cannot listen at {host}:{port}: hosts connect to IPv4 addresses; {cure}")
    return server


def address_of(server: asyncio.Server) -> tuple[str, int]:
    """Where hosts connect to."""
    return next(each.getsockname()[:2] for each in server.sockets if each.family == AF_INET)
