"""A connection of a host or an asking program to the dispatchers, and the tree's certificate.

Both sides send one JSON object per line. dataplane/apps/tree/src/machine/messages.rs declares the lines of a
host (`HostLine`, of which `hello` is the first) and those to it (`ServiceLine`). Programs that are not hosts
begin with `{"ask": …}` instead (groupflow.tree.questions).
"""

import asyncio
import hashlib
import json
import logging
import re
import ssl
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from socket import AF_INET
from typing import Any, TypeVar

from groupflow._native import make_certificate
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
    """the last line to the peer about the hosts of the tree"""

    def send(self, form: dict[str, Any]) -> None:
        self.write(json.dumps(form))

    def write(self, line: str) -> None:
        if self.is_refused or self.writer.is_closing():  # with TLS it may have no buffer any more
            return
        if self.writer.transport.get_write_buffer_size() > _UNREAD:
            log.warning("host=%s reads nothing and is disconnected", self.name)
            self.writer.transport.abort()
        else:
            self.writer.write(line.encode() + b"\n")

    def refuse(self, code: str, text: str) -> None:
        """Sends the last line, and ignores further ones. The peer is given time to read it and to close."""
        if not self.is_refused:
            self.send({"refused": {"code": code, "text": text}})
            self.is_refused = True
            asyncio.get_running_loop().call_later(_LAST_SECONDS, self.writer.close)

    async def line(self) -> bytes | None:
        """The peer's next line; None: the connection has ended. Raises ValueError."""
        try:
            return await self.reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError:
            raise ValueError(f"longer than {LINE} bytes") from None


def fingerprint(certificate: bytes) -> str:
    """SHA-256 of a certificate (DER), hexadecimal."""
    return hashlib.sha256(certificate).hexdigest()


@dataclass(frozen=True)
class Identity:
    """A tree's certificate and its key, PEM, which every host that has the token is given.

    With these, dispatchers and hosts encrypt, and prove that they belong to the tree.
    """

    certificate: str
    key: str = field(repr=False)

    @staticmethod
    def make() -> "Identity":
        return Identity(*make_certificate("groupflow-tree"))

    @property
    def pin(self) -> str:
        """SHA-256 of the certificate, hexadecimal, by which hosts check it."""
        return fingerprint(ssl.PEM_cert_to_DER_cert(self.certificate))

    def context(self) -> ssl.SSLContext:
        """A server's TLS context, TLS 1.3 only."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.num_tickets = 0
        with tempfile.TemporaryDirectory(prefix="groupflow-tree-") as folder:  # for its owner only
            path = Path(folder) / "identity.pem"
            path.touch(mode=0o600)
            path.write_text(self.certificate + self.key)
            context.load_cert_chain(path)
        return context


def gives_way(silent: Mapping[_Key, str]) -> _Key | None:
    """Of connections that have not shown who they are, oldest first, each with its source: the one that gives
    way to a newcomer. It is the oldest of the source with most, so that a source crowds itself out first."""
    counts = Counter(silent.values())
    return min(silent, key=lambda each: -counts[silent[each]], default=None)


async def listen(
    at: tuple[str, int],
    accept: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None],
    tls: ssl.SSLContext | None,
) -> asyncio.Server:
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
