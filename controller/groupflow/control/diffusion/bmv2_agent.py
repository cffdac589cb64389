"""The rate agent: the work of gfswitch's traffic manager for the control, done beside a BMv2 switch.

It sends the ticks, keeps queue_depth and queue_share up to date, and applies queue_rate. Three limits of BMv2
remain, as docs/how-to/diffusion.md says: rates are whole packets/s, 0 means no limit, and packets keep the
departure time that they got when queued, which is why queues are kept short and no rate is near 0.
"""

import socket
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from groupflow.control.diffusion.coefficients import RATE_MAX, UNITS
from groupflow.control.diffusion.plan import QUEUES
from groupflow.errors import UnavailableError, reason

_VERSION_CALL = 0x80010001
_REPLY = 2
_SEQUENCE = 1
_STOP, _I32, _I64, _TEXT = 0, 8, 10, 11
_SECONDS = 5.0
_LONGEST = 1 << 16


class ThriftClient:
    """The four calls of a simple_switch's Thrift service that the agent needs, in Thrift's binary protocol.

    By hand: a client made by Thrift's compiler would be BMv2's code, and a few numbers and a text in fixed
    order need no library. The service names are those of BMv2's multiplexed server: `standard`,
    `simple_switch`. Not for use from several threads at once.
    """

    def __init__(self, host: str, port: int) -> None:
        try:
            self._socket = socket.create_connection((host, port), _SECONDS)
        except OSError as error:
            raise UnavailableError(
                f"no BMv2 at {host}:{port} ({reason(error)}); name its --thrift-port"
            ) from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._in = self._socket.makefile("rb")

    def close(self) -> None:
        self._in.close()
        self._socket.close()

    def read_registers(self, cells: Sequence[tuple[str, int]]) -> list[int]:
        """The values of cells, each a register's name and an index. Raises UnavailableError."""
        read = "standard:bm_register_read"
        values = self._call(*((read, "iti", (0, name, index)) for name, index in cells))
        if None in values:
            raise UnavailableError(f"BMv2 did not give register {cells[values.index(None)][0]}")
        return [value & 0xFFFFFFFF for value in values if value is not None]

    def write_registers(self, cells: Sequence[tuple[str, int, int]]) -> None:
        """Sets cells, each a register's name, an index and a value. Raises UnavailableError."""
        write = "standard:bm_register_write"
        self._call(*((write, "itiq", (0, name, index, value)) for name, index, value in cells))

    def set_queue_rate(self, port: int, priority: int, packets_per_second: int) -> None:
        """Sets a queue's rate; 0: no limit. Raises UnavailableError."""
        method = "simple_switch:set_egress_priority_queue_rate"
        self._call((method, "iiq", (port, priority, packets_per_second)))

    def set_queue_depth(self, port: int, priority: int, packets: int) -> None:
        """Sets a queue's depth in packets. Raises UnavailableError."""
        method = "simple_switch:set_egress_priority_queue_depth"
        self._call((method, "iii", (port, priority, packets)))

    def _call(self, *calls: tuple[str, str, tuple[int | str, ...]]) -> list[int | None]:
        """Makes the calls, all at once, since each wait for BMv2 costs more than a call: their methods, and
        types and values of their arguments. Returns the numbers that they return, None where a call returns
        none.

        Raises UnavailableError.
        """
        try:
            self._socket.sendall(b"".join(_message(*each) for each in calls))
            return [self._answer(method) for method, _, _ in calls]
        except (OSError, EOFError) as error:
            raise UnavailableError(f"BMv2 broke off: {error or 'connection closed'}") from None

    def _answer(self, method: str) -> int | None:
        version = self._number(">I")
        if version >> 16 != 0x8001:
            raise UnavailableError(f"{method}: BMv2 does not speak Thrift's binary protocol")
        self._text()
        self._number(">i")
        if version & 0xFF != _REPLY:
            raise UnavailableError(f"{method}: BMv2 does not know the call or its arguments")
        result: int | None = None
        while (kind := self._number(">B")) != _STOP:
            field = self._number(">h")
            if field:
                raise UnavailableError(f"{method}: BMv2 refused it")
            if kind not in (_I32, _I64):
                raise UnavailableError(f"{method}: an answer of type {kind}, which is not expected")
            result = self._number(">i" if kind == _I32 else ">q")
        return result

    def _text(self) -> bytes:
        length = self._number(">i")
        if not 0 <= length <= _LONGEST:
            raise UnavailableError("BMv2 does not speak Thrift's binary protocol")
        return self._bytes(length)

    def _number(self, form: str) -> int:
        return int(struct.unpack(form, self._bytes(struct.calcsize(form)))[0])

    def _bytes(self, count: int) -> bytes:
        data = self._in.read(count)
        if len(data) < count:
            raise EOFError("connection closed")
        return data


def _message(method: str, types: str, arguments: tuple[int | str, ...]) -> bytes:
    """A call; of its arguments i stands for 32 bits, q for 64, t for a text."""
    name = method.encode()
    data = struct.pack(">II", _VERSION_CALL, len(name)) + name + struct.pack(">i", _SEQUENCE)
    for number, (kind, value) in enumerate(zip(types, arguments, strict=True), 1):
        if isinstance(value, str):
            text = value.encode()
            data += struct.pack(">Bhi", _TEXT, number, len(text)) + text
        else:
            data += struct.pack(f">Bh{kind}", _I32 if kind == "i" else _I64, number, value)
    return data + bytes([_STOP])


NO_LIMIT = 2**32 - 1
DEPTH_PACKETS = 64
"""depth of each controlled queue"""
LEAST_PERIOD_NS = 20_000_000
"""shortest time between rounds, in place of the link's delay d of eq. 3: six switches and their agents share
two cores, and D / d stays small enough for queues that answer late. gfswitch reports once every d instead"""
LEAST_RATE = 10**9 // LEAST_PERIOD_NS
"""packets/s where eq. 1 gives less, also 0: one a round. A packet queued at 1 packet/s would hold up the
queue for a second, even when the pause is over"""
QUEUE_DEPTH = "queue_depth"
QUEUE_RATE = "queue_rate"
QUEUE_SHARE = "queue_share"
LEFT_BEHIND = "left_behind"


class RegisterCell(NamedTuple):
    """A controlled queue of a port."""

    port: int
    queue: int
    line_rate: int
    """rate of the port, in units; RATE_MAX: not limited"""

    @property
    def register(self) -> int:
        return self.port * QUEUES + self.queue


class Tick(NamedTuple):
    period_ns: int
    frame: bytes


class RateAgent:
    """The agent of one switch. `control` replaces its cells and ticks while it runs."""

    def __init__(self, switch: ThriftClient, send: Callable[[bytes], object]) -> None:
        self._switch = switch
        self._send = send
        self._cells: dict[int, RegisterCell] = {}
        self._applied: dict[int, int] = {}
        """the rate set at the switch in packets/s, by register index"""
        self._ticks: tuple[Tick, ...] = ()
        self._due: dict[bytes, int] = {}

    def control(self, cells: Iterable[RegisterCell], ticks: Iterable[Tick]) -> None:
        """Takes over the cells and ticks that the controller wants. Raises UnavailableError."""
        wanted = {cell.register: cell for cell in cells}
        for cell in [cell for index, cell in self._cells.items() if index not in wanted]:
            self._switch.set_queue_rate(cell.port, cell.queue, 0)
            self._applied.pop(cell.register, None)
        for index, cell in wanted.items():
            if index not in self._cells:
                self._switch.write_registers([(name, index, NO_LIMIT) for name in (QUEUE_RATE, QUEUE_SHARE)])
                self._switch.set_queue_depth(cell.port, cell.queue, DEPTH_PACKETS)
        self._cells = wanted
        self._ticks = tuple(ticks)
        frames = {tick.frame for tick in self._ticks}
        self._due = {frame: due for frame, due in self._due.items() if frame in frames}

    def round(self, now_ns: int) -> int:
        """Does everything that is due. Returns the time of the next round in ns. Raises UnavailableError."""
        self._update_registers()
        ready = [tick for tick in self._ticks if self._due.get(tick.frame, 0) <= now_ns]
        for tick in ready:
            self._send(tick.frame)
            due = self._due.get(tick.frame, now_ns) + max(tick.period_ns, LEAST_PERIOD_NS)
            self._due[tick.frame] = max(due, now_ns)  # ticks that were not sent in time are not made up for
        first = min((self._due[tick.frame] for tick in self._ticks), default=now_ns + 100_000_000)
        return max(first, now_ns + LEAST_PERIOD_NS)  # ticks of flows that came later have phases of their own

    def _update_registers(self) -> None:
        demands: dict[int, list[tuple[RegisterCell, int]]] = defaultdict(list)
        wanted = [(name, index) for name in (LEFT_BEHIND, QUEUE_RATE) for index in self._cells]
        found = self._switch.read_registers(wanted)
        depths, rates = found[: len(self._cells)], found[len(self._cells) :]
        for cell, demand in zip(self._cells.values(), rates, strict=True):
            demands[cell.port].append((cell, demand))
        writes = [(QUEUE_DEPTH, index, depth) for index, depth in zip(self._cells, depths, strict=True)]
        for queues in demands.values():
            for (cell, demand), share in zip(queues, shares(queues), strict=True):
                writes.append((QUEUE_SHARE, cell.register, share))
                rate = packets_per_second(min(demand, share))
                if self._applied.get(cell.register, 0) != rate:
                    self._switch.set_queue_rate(cell.port, cell.queue, rate)
                    self._applied[cell.register] = rate
        self._switch.write_registers(writes)

    def run(
        self, refresh: Callable[[], tuple[Sequence[RegisterCell], Sequence[Tick]]], refresh_ns: int
    ) -> None:
        """Runs until an exception: KeyboardInterrupt, or UnavailableError when the switch is gone."""
        look = 0
        while True:
            now = time.monotonic_ns()
            if now >= look:
                self.control(*refresh())
                look = now + refresh_ns
            time.sleep(max(0, self.round(now) - time.monotonic_ns()) / 1e9)


def shares(queues: Sequence[tuple[RegisterCell, int]]) -> list[int]:
    """L of eq. 13 for each queue of one port: B * J~_j / sum J~, over the queues whose rate is set."""
    total = sum(demand for _, demand in queues if demand != NO_LIMIT)
    found: list[int] = []
    for cell, demand in queues:
        if demand == NO_LIMIT or cell.line_rate >= RATE_MAX:
            found.append(NO_LIMIT)
        else:
            found.append(cell.line_rate * demand // total if total else cell.line_rate)
    return found


def packets_per_second(rate: int) -> int:
    """A rate in units, as BMv2 takes it: whole packets/s, at least LEAST_RATE; 0 is no limit."""
    if rate == NO_LIMIT or rate >= RATE_MAX:
        return 0
    return max(LEAST_RATE, (rate + UNITS // 2) // UNITS)
