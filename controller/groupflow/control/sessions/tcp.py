"""TCP sessions: the check of their settings, and the choice of their addresses. Pure functions."""

from collections.abc import Container
from ipaddress import IPv4Network

from groupflow.control.sessions.model import RefusalError, TcpSettings

DEFAULT_PREFIX = IPv4Network("10.200.0.0/16")
"""Addresses of TCP sessions. Agents own the whole prefix; switches refuse addresses that no session has."""

MIN_CACHE, MAX_CACHE = 1 << 16, 1 << 40
MIN_BUFFER, MAX_BUFFER = 4096, 1 << 30
MAX_PORTS = 16
MAX_LISTENERS = 240
"""Most members of one TCP session: an agent takes 256 branches, some of which are other agents."""


def checked(settings: TcpSettings, switches: Container[str]) -> TcpSettings:
    """The same settings. Raises RefusalError naming the setting that is out of range, and its range."""

    def refuse(text: str) -> RefusalError:
        return RefusalError("bad_request", text)

    ports = settings.ports
    if not 1 <= len(ports) <= MAX_PORTS or len(set(ports)) != len(ports):
        raise refuse(f"{len(ports)} ports will not do; give 1 to {MAX_PORTS} different ones")
    for port in ports:
        if not 1 <= port <= 65535:
            raise refuse(f"port {port} is out of range; use 1 to 65535")
    if not MIN_CACHE <= settings.cache_bytes <= MAX_CACHE:
        raise refuse(f"a cache of {settings.cache_bytes} bytes will not do; use {MIN_CACHE} to {MAX_CACHE}")
    if not 0 <= settings.history_bytes <= settings.cache_bytes:
        raise refuse(
            f"a history of {settings.history_bytes} bytes will not do; "
            f"use at most the cache's {settings.cache_bytes}"
        )
    for name, size in (("send", settings.send_buffer), ("receive", settings.receive_buffer)):
        if size is not None and not MIN_BUFFER <= size <= MAX_BUFFER:
            raise refuse(f"a {name} buffer of {size} bytes will not do; use {MIN_BUFFER} to {MAX_BUFFER}")
    congestion = settings.congestion
    if congestion is not None and not (congestion.isidentifier() and len(congestion) <= 15):
        raise refuse(f"no congestion control {congestion!r}; name one of the kernel's, as cubic")
    if settings.budget < 0:
        raise refuse(f"{settings.budget} agents cannot be chosen; give 1 or more")
    for switch in settings.agents:
        if switch not in switches:
            raise refuse(f"no switch {switch!r} with an agent; list the switches")
    return settings


def lowest_free(prefix: IPv4Network, used: Container[str]) -> str:
    """The lowest host address of the prefix that no session has. Raises RefusalError."""
    for address in prefix.hosts():
        if str(address) not in used:
            return str(address)
    raise RefusalError(
        "full", f"every address of {prefix} is taken; delete a session, or use a larger prefix"
    )
