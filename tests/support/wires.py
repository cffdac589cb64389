"""veth pairs, one a switch port, with raw sockets at the far ends."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
from collections.abc import Generator
from pathlib import Path

_numbers = itertools.count()
_ETH_P_ALL = 0x0003
_SOL_PACKET = 263
_PACKET_IGNORE_OUTGOING = 23


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


class Wires:
    """For each port a pair: `switch_end(port)` for the switch, and a socket at the other end for the test."""

    def __init__(self, ports: list[int]) -> None:
        self.ports = ports
        self._sockets: dict[int, socket.socket] = {}
        self._tag = f"gf{os.getpid() % 100000}{chr(ord('a') + next(_numbers) % 26)}"

    def switch_end(self, port: int) -> str:
        """The switch's interface of a port."""
        return f"{self._tag}s{port}"

    def far_end(self, port: int) -> str:
        """The test's interface of a port."""
        return f"{self._tag}t{port}"

    def open(self) -> None:
        """Creates the pairs and the sockets. No IPv6 and no ARP: the only frames are the test's."""
        for port in self.ports:
            pair = (self.switch_end(port), self.far_end(port))
            _ip("link", "add", pair[0], "type", "veth", "peer", "name", pair[1])
            for end in pair:
                Path(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6").write_text("1")
                _ip("link", "set", end, "arp", "off", "up")
            self._listen(port, pair[1])

    def _listen(self, port: int, interface: str) -> None:
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        self._sockets[port] = wire
        wire.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        wire.bind((interface, _ETH_P_ALL))
        wire.setblocking(False)

    def has(self, port: int) -> bool:
        """Whether the switch has this port."""
        return port in self._sockets

    def received(self, port: int) -> list[bytes]:
        """Frames that have arrived at the test's end since the last call."""
        frames: list[bytes] = []
        with contextlib.suppress(BlockingIOError):
            while True:
                frames.append(self._sockets[port].recv(65535))
        return frames

    def send(self, port: int, frame: bytes) -> None:
        """Puts a frame on the wire towards the switch."""
        self._sockets[port].send(frame)

    def close(self) -> None:
        """Removes everything, also after an error half way."""
        for wire in self._sockets.values():
            wire.close()
        self._remove()

    def _remove(self) -> None:
        for port in self.ports:
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("link", "del", self.switch_end(port))


class Cables(Wires):
    """Interfaces of this machine that somebody has connected to a switch's ports."""

    def __init__(self, interfaces: dict[int, str]) -> None:
        super().__init__(sorted(interfaces))
        self._interfaces = interfaces

    def open(self) -> None:
        """Listens on the interfaces, which stay as they are."""
        for port, interface in self._interfaces.items():
            self._listen(port, interface)

    def _remove(self) -> None:
        pass


@contextlib.contextmanager
def wires(ports: list[int]) -> Generator[Wires]:
    """Wires for the length of a `with` block."""
    made = Wires(ports)
    try:
        made.open()
        yield made
    finally:
        made.close()
