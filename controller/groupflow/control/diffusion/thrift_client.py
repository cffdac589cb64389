"""The four calls of BMv2's Thrift service that the rate agent needs, in Thrift's binary protocol.

By hand: a client made by Thrift's compiler would be BMv2's code, and a few numbers and a text in fixed
order need no library. The service names are those of BMv2's multiplexed server: `standard`, `simple_switch`.
"""

import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from groupflow.errors import UnavailableError, reason

_VERSION_CALL = 0x80010001
_REPLY = 2
_SEQUENCE = 1
_STOP, _I32, _I64, _TEXT = 0, 8, 10, 11
_SECONDS = 5.0
_LONGEST = 1 << 16


class I32(NamedTuple):
    value: int


class I64(NamedTuple):
    value: int


Argument: TypeAlias = I32 | I64 | str


class ThriftClient:
    """One connection to a simple_switch. Not for use from several threads at once."""

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
        values = self._call(*((read, (I32(0), name, I32(index))) for name, index in cells))
        if None in values:
            raise UnavailableError(f"BMv2 did not give register {cells[values.index(None)][0]}")
        return [value & 0xFFFFFFFF for value in values if value is not None]

    def write_registers(self, cells: Sequence[tuple[str, int, int]]) -> None:
        """Sets cells, each a register's name, an index and a value. Raises UnavailableError."""
        write = "standard:bm_register_write"
        self._call(*((write, (I32(0), name, I32(index), I64(value))) for name, index, value in cells))

    def set_queue_rate(self, port: int, priority: int, packets_per_second: int) -> None:
        """Sets a queue's rate; 0: no limit. Raises UnavailableError."""
        method = "simple_switch:set_egress_priority_queue_rate"
        self._call((method, (I32(port), I32(priority), I64(packets_per_second))))

    def set_queue_depth(self, port: int, priority: int, packets: int) -> None:
        """Sets a queue's depth in packets. Raises UnavailableError."""
        method = "simple_switch:set_egress_priority_queue_depth"
        self._call((method, (I32(port), I32(priority), I32(packets))))

    def _call(self, *calls: tuple[str, tuple[Argument, ...]]) -> list[int | None]:
        """Makes the calls, all at once, since each wait for BMv2 costs more than a call: their methods and
        arguments. Returns the numbers that they return, None where a call returns none.

        Raises UnavailableError.
        """
        try:
            self._socket.sendall(b"".join(_message(method, arguments) for method, arguments in calls))
            return [self._answer(method) for method, _ in calls]
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


def _message(method: str, arguments: tuple[Argument, ...]) -> bytes:
    name = method.encode()
    data = struct.pack(">II", _VERSION_CALL, len(name)) + name + struct.pack(">i", _SEQUENCE)
    for number, argument in enumerate(arguments, 1):
        if isinstance(argument, I32):
            data += struct.pack(">Bhi", _I32, number, argument.value)
        elif isinstance(argument, I64):
            data += struct.pack(">Bhq", _I64, number, argument.value)
        else:
            text = argument.encode()
            data += struct.pack(">Bhi", _TEXT, number, len(text)) + text
    return data + bytes([_STOP])
