"""Measures link delays: a probe goes to the neighbour switch and comes back, read by the clock that sent it.

The data plane stamps and answers (p4src/stages/probes.p4), so neither the controller's delay nor a second
clock is in the figure. The figure includes the wait behind the frame on the wire, and the switches' own time.
"""

import asyncio
import itertools
import secrets
import struct
from collections.abc import Mapping
from typing import Protocol

from groupflow.control.diffusion.plan import NEAREST_BRIDGE

ETHERTYPE_FEEDBACK = 0x88B5
PROBE = 2
PROBES = 8
"""Number of round trips, of which the shortest counts: queues only make them longer."""
PROBE_SECONDS = 1.0
_HEADER = struct.Struct("!HHII")
_TOKEN = 8


class ProbeSender(Protocol):
    """The part of a device that sends packets."""

    def send(self, port: int, frame: bytes) -> None: ...


class Prober:
    """Sends probes and recognises them when they come back."""

    def __init__(self, devices: Mapping[str, ProbeSender]) -> None:
        self._devices = devices
        self._numbers = itertools.count(1)
        self._waiting: dict[bytes, asyncio.Future[int]] = {}

    async def delay(self, switch: str, port: int, mac: bytes) -> int | None:
        """The one-way delay in ns: half of the shortest round trip; None if no probe came back."""
        trips: list[int] = []
        for _ in range(PROBES):
            trip = await self._round_trip(switch, port, mac)
            if trip is None:
                break
            trips.append(trip)
        return min(trips) * 1000 // 2 if trips else None

    def back(self, frame: bytes) -> None:
        """Takes a probe that a switch handed up. Unknown probes, which any host can send, are ignored."""
        if len(frame) < 14 + _HEADER.size + _TOKEN:
            return
        _, _, left, returned = _HEADER.unpack_from(frame, 14)
        start = 14 + _HEADER.size
        future = self._waiting.get(frame[start : start + _TOKEN])
        if future is not None and not future.done():
            future.set_result((returned - left) % 2**32)

    async def _round_trip(self, switch: str, port: int, mac: bytes) -> int | None:
        """The time of one round trip in microseconds."""
        token = secrets.token_bytes(_TOKEN)
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[token] = future
        try:
            self._devices[switch].send(port, probe_frame(next(self._numbers), mac, token))
            async with asyncio.timeout(PROBE_SECONDS):
                return await future
        except TimeoutError:
            return None
        finally:
            del self._waiting[token]


def probe_frame(number: int, mac: bytes, token: bytes) -> bytes:
    """A probe of 60 bytes; the token comes back behind the header."""
    header = _HEADER.pack(number & 0xFFFF, PROBE, 0, 0)
    return (NEAREST_BRIDGE + mac + ETHERTYPE_FEEDBACK.to_bytes(2, "big") + header + token).ljust(60, b"\0")
