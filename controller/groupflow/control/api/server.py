"""Serves the REST API in the controller's own event loop."""

import asyncio
import logging
import os
import socket
import ssl
import struct
from collections.abc import Generator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from groupflow.errors import Error, reason


class ApiError(Error):
    """The API cannot be served. The text is one line with the cure."""


SILENCE = 10.0
"""Seconds in which a new connection must have sent a whole request's headers."""


class _Protocol(H11Protocol):
    """Closes a connection that asks for nothing."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(SILENCE, self._close_silent)

    def _close_silent(self) -> None:
        if self.cycle is None:  # pyright: ignore[reportUnnecessaryComparison] (None before the first request)
            self.transport.close()


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield  # the command handles signals


def listen(host: str, port: int, option: str = "--api") -> socket.socket:
    """The API's socket, taken before anything else is done. Raises ApiError, which names the option."""
    try:
        return socket.create_server((host, port))
    except OSError as error:
        raise ApiError(
            f"cannot serve at {host}:{port}: {reason(error)}; choose another address with {option}"
        ) from None


class _OwnersSocket(socket.socket):
    """A Unix socket at which only processes of this user and of root are accepted."""

    def accept(self) -> "tuple[socket.socket, object]":
        client, address = super().accept()
        peer = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        if struct.unpack("3i", peer)[1] not in (0, os.geteuid()):
            client.close()
            raise ConnectionAbortedError  # for asyncio: nobody is there
        return client, address


def listen_privately(path: Path) -> socket.socket:
    """The API's Unix socket. A path at which no process answers is replaced. Raises ApiError."""
    api = _OwnersSocket(socket.AF_UNIX)
    try:
        if path.is_socket():
            with socket.socket(socket.AF_UNIX) as other, suppress(ConnectionRefusedError):
                other.connect(str(path))
                raise ApiError(f"cannot serve the API at {path}: another process does")
            path.unlink()
        os.fchmod(api.fileno(), 0o600)  # Linux gives the file this mode from the first moment
        api.bind(str(path))
        api.listen()
    except OSError as error:
        api.close()
        raise ApiError(f"cannot serve the API at {path}: {reason(error)}; choose another path") from None
    return api


def url_of(api: socket.socket, *, tls: bool = False) -> str:
    """The address of an API's socket."""
    where = api.getsockname()
    if isinstance(where, str):
        return f"unix:{where}"
    host = f"[{where[0]}]" if ":" in where[0] else where[0]
    return f"{'https' if tls else 'http'}://{host}:{where[1]}"


def names_of(tls: tuple[Path, Path] | None) -> list[str]:
    """The names in a certificate, such as `*.example.org`; none if it cannot be used."""
    if tls is None:
        return []
    with suppress(OSError):  # ssl.SSLError is one; serve_app says what is wrong
        ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        ours.load_cert_chain(*tls)
        theirs = ssl.create_default_context(cafile=tls[0])  # Python reads only certificates that it believes
        theirs.check_hostname = False
        theirs.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = theirs.wrap_bio(back, there)
        for end in 2 * (client, ours.wrap_bio(there, back, server_side=True)):
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
        found = (client.getpeercert() or {}).get("subjectAltName", ())
        return [str(name) for kind, name in found if kind == "DNS"]  # pyright: ignore
    return []


def is_beyond(api: socket.socket) -> bool:
    """Whether the socket is reached from other machines."""
    where = api.getsockname()
    return not isinstance(where, str) and not ip_address(where[0]).is_loopback


def inherit(descriptor: int) -> socket.socket:
    """The API's socket, which the process that started this one has opened. Raises ApiError."""
    with suppress(OSError):
        api = socket.socket(fileno=descriptor)
        if api.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return _OwnersSocket(fileno=api.detach()) if api.family == socket.AF_UNIX else api
    raise ApiError(f"--listen fd:{descriptor}: this process has inherited no listening socket {descriptor}")


async def serve_app(app: ASGIApp, *sockets: socket.socket, tls: tuple[Path, Path] | None = None) -> None:
    """Serves until cancelled; `tls`: certificate and key, which have been tried."""
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # the caller says where the API is
    # A peer's word is not taken for where it is (proxy_headers).
    config = uvicorn.Config(
        app, http=_Protocol, lifespan="off", log_config=None, access_log=False, proxy_headers=False,
        timeout_graceful_shutdown=1, ssl_certfile=tls and tls[0], ssl_keyfile=tls and tls[1],
    )  # fmt: skip
    config.load()
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=list(sockets)))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving
