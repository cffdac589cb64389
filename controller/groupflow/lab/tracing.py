"""The way of packets through all switches of a network: each switch is asked, and each packet is followed."""

import json
import socket
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Any, TypeAlias, cast

from groupflow.errors import Error, UnavailableError, reason
from groupflow.model.topology import Topology

Trace: TypeAlias = dict[str, Any]
FOLLOW_SECONDS = 2.0
"""in which a packet that left a switch comes to the next: longer than any link and queue of a lab's"""
_EVERY = 1 << 32
"""of a filter's packets: which of them are followed is known only when they come"""
_KEY = 32
"""hexadecimal digits of a packet's payload, by which the next switch's trace is known for the same packet"""
_SHOWN = 400
"""digits of a packet in which all switches see the key, though one adds a header"""
_OTHERS = 256
"""traces that are kept for copies that may come to be followed"""


@dataclass(frozen=True)
class _Copy:
    """A copy of a packet that is on its way to a switch."""

    switch: str
    port: int
    key: str
    sender: str
    until: float


class Follower:
    """Decides which traces belong to the packets that are followed. Reads no clock."""

    def __init__(self, topology: Topology, packets: int, *, port: int | None, apart: bool) -> None:
        """`port`: only packets that come to the network by this one. `apart`: each switch's packets for
        themselves, as of packets that are dropped there."""
        self._topology = topology
        self._left = packets
        self._port = port
        self._apart = apart
        self._copies: list[_Copy] = []
        self._others: deque[tuple[str, Trace]] = deque(maxlen=_OTHERS)
        """traces of packets that are not followed, so far"""

    @property
    def is_done(self) -> bool:
        return self._left == 0 and not self._copies

    def take(self, switch: str, trace: Trace, now: float) -> list[tuple[str, Trace]]:
        """The traces that are wanted, now that this one has come: a switch may give its own before that one
        before it, of which another copy waits."""
        self._others.append((switch, trace))
        found: list[tuple[str, Trace]] = []
        while each := next((each for each in self._others if self._is_wanted(*each, now)), None):
            self._others.remove(each)
            found.append(each)
        return found

    def _is_wanted(self, switch: str, trace: Trace, now: float) -> bool:
        at = (switch, trace["port"])
        here = (copy for copy in self._copies if (copy.switch, copy.port) == at)
        found = next((copy for copy in here if copy.key in trace["packet"]), None)
        if found is not None:
            self._copies.remove(found)
        elif self._left and (self._apart or self._enters(switch, trace["port"])):
            self._left -= 1
        else:
            return False
        if not self._apart:
            self._copies += self._sent(switch, trace, trace, now)
        return True

    def lost(self, now: float) -> list[_Copy]:
        """Copies that did not come to the next switch in time; they are forgotten."""
        late = [copy for copy in self._copies if copy.until <= now]
        self._copies = [copy for copy in self._copies if copy.until > now]
        return late

    def _enters(self, switch: str, port: int) -> bool:
        """Whether a packet comes to the network here, and not from another switch."""
        end = self._topology.switches[switch].ports.get(port)
        is_host = end is None or end.node not in self._topology.switches
        return is_host and self._port in (None, port)

    def _sent(self, switch: str, trace: Trace, branch: Trace, now: float) -> Generator[_Copy]:
        if branch["verdict"] == "sent" and "queue" in branch:
            end = self._topology.switches[switch].ports.get(branch["queue"]["port"])
            if end is not None and end.node in self._topology.switches:
                key = trace["packet"][:_SHOWN][-_KEY:]
                yield _Copy(end.node, end.port, key, switch, now + FOLLOW_SECONDS)
        for each in branch["copies"]:
            yield from self._sent(switch, trace, each, now)


def follow(
    topology: Topology,
    sockets: Path,
    switch: str | None,
    wanted: Mapping[str, Any],
    show: Callable[[Trace], None],
) -> list[str]:
    """Shows the traces of the next packets through one switch, or through all, in the order in which they
    come; a trace's `switch` is a name. Returns a line for each copy that was lost on a link. Raises Error."""
    apart = switch is not None or bool(wanted.get("dropped"))
    follower = Follower(topology, wanted["next"], port=wanted.get("port"), apart=apart)
    question = {key: value for key, value in wanted.items() if key != "port" or apart}
    question |= {"op": "trace", "next": wanted["next"] if switch else _EVERY}
    lost: list[str] = []
    with ExitStack() as stack:
        selector = stack.enter_context(DefaultSelector())
        for name in [switch] if switch else topology.switches:
            connection = stack.enter_context(socket.socket(socket.AF_UNIX))
            try:
                connection.connect(str(sockets / f"{name}.sock"))
                connection.sendall(json.dumps(question).encode() + b"\n")
            except OSError as error:
                raise UnavailableError(f"{name}: gfswitch does not answer: {reason(error)}") from None
            selector.register(connection, EVENT_READ, (name, bytearray()))
        while not follower.is_done:
            for key, _ in selector.select(FOLLOW_SECONDS / 10):
                name, unread = cast(tuple[str, bytearray], key.data)
                for trace in _read(name, cast(socket.socket, key.fileobj), unread):
                    for at, each in follower.take(name, trace, time.monotonic()):
                        show(each | {"switch": at})
            lost += [
                f"from {copy.sender} to {copy.switch}: lost on the link, or not traced there"
                for copy in follower.lost(time.monotonic())
            ]
    return lost


def _read(name: str, connection: socket.socket, unread: bytearray) -> list[Trace]:
    """The traces that have come; `unread`: the beginning of the next. Raises Error."""
    data = connection.recv(1 << 16)
    if not data:
        raise UnavailableError(f"{name}: the switch ended")
    *lines, rest = (unread + data).split(b"\n")
    unread[:] = rest
    traces = cast(list[Trace], list(map(json.loads, lines)))
    for trace in traces:
        if "error" in trace:
            raise Error(f"{name}: {trace['error']}")
    return traces
