"""TCP sessions: the check of their settings, and the choice of their addresses. Pure functions."""

from collections.abc import Container
from ipaddress import IPv4Network

from groupflow.control.sessions.model import RefusalError, Tcp

DEFAULT_PREFIX = IPv4Network("10.200.0.0/16")
"""Addresses of TCP sessions. Agents own the whole prefix; switches refuse addresses that no session has."""

MAX_LISTENERS = 240
"""Most members of one TCP session: an agent takes 256 branches, some of which are other agents."""


def checked(tcp: Tcp, switches: Container[str]) -> Tcp:
    """The same settings. Raises RefusalError naming the setting that does not fit the others."""

    def refuse(text: str) -> RefusalError:
        return RefusalError("bad_request", text)

    if len(set(tcp.ports)) != len(tcp.ports):
        raise refuse(f"a port of {', '.join(map(str, tcp.ports))} is there twice; give different ones")
    if tcp.history > tcp.cache:
        raise refuse(f"a history of {tcp.history} bytes will not do; use at most the cache's {tcp.cache}")
    for switch in tcp.agents:
        if switch not in switches:
            raise refuse(f"no switch {switch!r} with an agent; list the switches")
    return tcp


def lowest_free(prefix: IPv4Network, used: Container[str]) -> str:
    """The lowest host address of the prefix that no session has. Raises RefusalError."""
    for address in prefix.hosts():
        if str(address) not in used:
            return str(address)
    raise RefusalError(
        "full", f"every address of {prefix} is taken; delete a session, or use a larger prefix"
    )
