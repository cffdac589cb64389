"""TCP sockets with set buffers, and the sizes that the kernel gave them.

Linux bounds SO_SNDBUF and SO_RCVBUF by net.core.wmem_max and net.core.rmem_max, and doubles the values,
to have room for its own bookkeeping (socket(7)): a program got half of the size that getsockopt returns.
A buffer that is set is not adapted any more. It has to be set before the connection is made: the handshake
tells by how many bits windows are shifted.
"""

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from groupflow.errors import reason
from groupflow.probe.model import ProbeError

Key = TypeVar("Key")

SEND_LIMIT, RECEIVE_LIMIT = "net.core.wmem_max", "net.core.rmem_max"
BACKLOG = 128
CHUNK = 256 << 10
"""bytes sent or received at once"""
_RESET = struct.pack("ii", 1, 0)


def granted(option: int, buffers: Iterable[int]) -> list[int]:
    """Sizes that programs here get when they ask for so many bytes of SO_SNDBUF or SO_RCVBUF."""
    found: list[int] = []
    for buffer in buffers:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            sock.setsockopt(socket.SOL_SOCKET, option, buffer)
            found.append(min(buffer, sock.getsockopt(socket.SOL_SOCKET, option) // 2))
    return found


def listen(host: str, port: int, buffer: int | None) -> socket.socket:
    """A listener whose connections have this receive buffer; None: one that the kernel adapts. Raises
    ProbeError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise ProbeError(
            f"cannot listen at {host}:{port}: {reason(error)}; choose another --listen"
        ) from None
    sock.setblocking(False)
    return sock


async def connect(host: str, port: int, patience: float, buffer: int | None = None) -> socket.socket:
    """A connection whose send buffer is set, or adapted by the kernel. Raises ProbeError."""
    where = f"{host}:{port}"
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(patience):
            addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            for place, (family, _, _, _, address) in enumerate(addresses, 1):
                try:
                    return await _connect(family, address, buffer)
                except OSError:
                    if place == len(addresses):
                        raise
            raise OSError(f"{host} has no address")
    except TimeoutError:
        raise ProbeError(
            f"{where}: no answer within {patience:g} s; check the address, and that firewalls let TCP port"
            f" {port} through"
        ) from None
    except socket.gaierror as error:
        raise ProbeError(f"{where}: {reason(error)}; check the name or write the address") from None
    except UnicodeError:  # the text cannot be a host's name
        raise ProbeError(f"{where}: not a host's name; check it or write the address") from None
    except (ConnectionRefusedError, ConnectionResetError) as error:  # reset: the listener closed just now
        raise ProbeError(
            f"{where}: {reason(error)}; start `groupflow probe serve` there, or name its port"
        ) from None
    except OSError as error:
        raise ProbeError(f"{where}: {reason(error)}; check the address and the way to it") from None


async def _connect(family: int, address: Any, buffer: int | None) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        if buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        await asyncio.get_running_loop().sock_connect(sock, address)
    except BaseException:
        sock.close()
        raise
    return sock


def reset(sock: socket.socket) -> None:
    """Closes a socket at once: bytes that wait in its buffer must not disturb the next measurement."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    finally:
        sock.close()


def gives_way(silent: Mapping[Key, str]) -> Key | None:
    """Of connections that have not shown who they are, oldest first, each with its source: the one that gives
    way to a newcomer. It is the oldest of the source with most, so that a source crowds itself out first."""
    counts = Counter(silent.values())
    return min(silent, key=lambda each: -counts[silent[each]], default=None)
