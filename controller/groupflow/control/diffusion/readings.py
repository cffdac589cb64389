"""Measurements of switches: the delays of links; and n, r, J and L of each hop, from registers."""

import asyncio
import itertools
import secrets
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from finsy.proto import p4r

from groupflow.control.diffusion.coefficients import RATE_MAX
from groupflow.control.diffusion.plan import NEAREST_BRIDGE, QUEUES, Branch, Part
from groupflow.p4rt.connection import ConnectionFailedError
from groupflow.p4rt.device import Device
from groupflow.p4rt.program import Program

ETHERTYPE_FEEDBACK = 0x88B5
PROBE = 2
PROBES = 8
"""Number of round trips, of which the shortest counts: queues only make them longer."""
PROBE_SECONDS = 1.0
_HEADER = struct.Struct("!HHII")
_TOKEN = 8
_CLOCK = 2**22
"""Microseconds until the clock of some chips begins anew."""


class Prober:
    """Measures link delays: a probe goes to the neighbour switch and comes back, read by the clock that sent
    it.

    The data plane stamps and answers (p4src/stages/probes.p4), so neither the controller's delay nor a second
    clock is in the figure. The figure includes the wait behind the frame on the wire, and the switches' own
    time.
    """

    def __init__(self, devices: Mapping[str, Device]) -> None:
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
            future.set_result((returned - left) % _CLOCK)

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


NO_LIMIT = 2**32 - 1
_REGISTERS = ("queue_depth", "queue_rate", "queue_share", "heard_headroom", "heard_depth")

Query: TypeAlias = Callable[[Sequence[p4r.Entity]], Awaitable[list[p4r.Entity]]]


class Reading(NamedTuple):
    """The state of one branch of one switch. Rates are in units; None: no limit, or no report yet."""

    switch: str
    branch: Branch
    queue: int
    n: int | None = None
    """packets waiting"""
    j: int | None = None
    """max(0, J~(alpha)): the rate of the queue"""
    r: int | None = None
    """target rate of the last report from downstream"""
    next_n: int | None = None
    """n of the node downstream, from the same report"""
    share: int | None = None
    """L of eq. 13"""
    problem: str | None = None
    """why nothing could be read, in one line"""


async def read_part(program: Program, part: Part, query: Query) -> list[Reading]:
    """A reading for each branch of a switch's part; one that fails says so in `problem`."""
    return [await _read_branch(program, part, branch, query) for branch in part.branches]


async def _read_branch(program: Program, part: Part, branch: Branch, query: Query) -> Reading:
    cell = branch.port * QUEUES + part.queue
    entities = [
        p4r.Entity(
            register_entry=p4r.RegisterEntry(register_id=program.registers[name], index=p4r.Index(index=cell))
        )
        for name in _REGISTERS
    ]
    try:
        found = await query(entities)
    except ConnectionFailedError as error:
        return Reading(part.switch, branch, part.queue, problem=str(error))
    values = {
        entity.register_entry.register_id: int.from_bytes(entity.register_entry.data.bitstring, "big")
        for entity in found
    }
    if len(values) < len(_REGISTERS):
        return Reading(part.switch, branch, part.queue, problem="the switch does not give its registers")
    return reading(part, branch, lambda name, _cell: values[program.registers[name]])


def reading(part: Part, branch: Branch, register: Callable[[str, int], int]) -> Reading:
    """The reading of a branch, from its cells of the registers."""
    cell = branch.port * QUEUES + part.queue
    n, j, share, headroom, depth = (register(name, cell) for name in _REGISTERS)
    heard = headroom != 0
    active = heard or not branch.controlled
    return Reading(
        part.switch,
        branch,
        part.queue,
        n=n,
        j=j if active and j != NO_LIMIT else None,
        r=_signed(headroom ^ RATE_MAX) if heard else None,
        next_n=depth if heard else None,
        share=share if share != NO_LIMIT else None,
    )


def _signed(value: int) -> int:
    return value - 2**32 if value >= 2**31 else value
