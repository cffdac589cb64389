"""The rate agent's decisions over a fake BMv2, and its Thrift client against a server written here."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import pytest

from groupflow.cli.main import main
from groupflow.control.diffusion.bmv2_agent import (
    DEPTH_PACKETS,
    LEFT_BEHIND,
    NO_LIMIT,
    QUEUE_DEPTH,
    QUEUE_RATE,
    QUEUE_SHARE,
    RateAgent,
    RegisterCell,
    ThriftClient,
    Tick,
    packets_per_second,
    shares,
)
from groupflow.control.diffusion.coefficients import RATE_MAX
from groupflow.errors import UnavailableError

MS = 1_000_000


class FakeBmv2(ThriftClient):
    def __init__(self) -> None:  # pyright: ignore[reportMissingSuperCall]
        self.registers: dict[tuple[str, int], int] = {}
        self.rates: dict[tuple[int, int], int] = {}
        self.depths: dict[tuple[int, int], int] = {}
        self.rate_calls = 0

    def read_registers(self, cells: Sequence[tuple[str, int]]) -> list[int]:
        return [self.registers.get(cell, 0) for cell in cells]

    def write_registers(self, cells: Sequence[tuple[str, int, int]]) -> None:
        self.registers.update({(name, index): value for name, index, value in cells})

    def set_queue_rate(self, port: int, priority: int, packets_per_second: int) -> None:
        self.rates[port, priority] = packets_per_second
        self.rate_calls += 1

    def set_queue_depth(self, port: int, priority: int, packets: int) -> None:
        self.depths[port, priority] = packets


def test_rates_and_registers_follow_each_other() -> None:
    switch, sent = FakeBmv2(), list[bytes]()
    agent = RateAgent(switch, sent.append)
    first, second = RegisterCell(2, 1, 64_000), RegisterCell(2, 3, 64_000)
    agent.control([first, second], [])
    assert switch.depths == {(2, 1): DEPTH_PACKETS, (2, 3): DEPTH_PACKETS}
    agent.round(0)
    assert switch.rates == {}  # nothing heard: no limit, as BMv2 begins
    switch.registers[QUEUE_RATE, first.register] = 30_000
    switch.registers[QUEUE_RATE, second.register] = 90_000
    switch.registers[LEFT_BEHIND, first.register] = 17
    agent.round(0)
    assert switch.registers[QUEUE_DEPTH, first.register] == 17
    assert switch.registers[QUEUE_SHARE, first.register] == 16_000
    assert switch.registers[QUEUE_SHARE, second.register] == 48_000
    assert switch.rates == {(2, 1): 250, (2, 3): 750}  # min(J~, L)
    calls = switch.rate_calls
    agent.round(0)
    assert switch.rate_calls == calls  # only changes are told
    agent.control([first], [])
    assert switch.rates[2, 3] == 0


def test_ticks_keep_their_period_and_are_not_made_up_for() -> None:
    sent = list[bytes]()
    agent = RateAgent(FakeBmv2(), sent.append)
    agent.control([], [Tick(50 * MS, b"a"), Tick(100, b"b")])
    assert agent.round(0) == 20 * MS  # the shortest period there is here
    assert sent == [b"a", b"b"]
    agent.round(20 * MS)
    assert sent == [b"a", b"b", b"b"]
    agent.round(500 * MS)
    agent.round(500 * MS)
    assert sent.count(b"a") <= 3


def test_ticks_with_phases_of_their_own_make_no_shorter_rounds() -> None:
    sent = list[bytes]()
    agent = RateAgent(FakeBmv2(), sent.append)
    agent.control([], [Tick(20 * MS, b"a")])
    agent.round(0)
    agent.control([], [Tick(20 * MS, b"a"), Tick(20 * MS, b"b")])  # a flow that came in between
    assert agent.round(15 * MS) == 35 * MS
    assert agent.round(35 * MS) == 55 * MS
    assert sent == [b"a", b"b", b"a", b"b"]


@pytest.mark.parametrize(
    ("rate", "applied"), [(0, 50), (3200, 50), (3296, 52), (6400, 100), (RATE_MAX, 0), (NO_LIMIT, 0)]
)
def test_a_pause_is_one_packet_a_round(rate: int, applied: int) -> None:
    assert packets_per_second(rate) == applied


def test_shares_are_of_queues_with_a_rate() -> None:
    a, b = RegisterCell(1, 1, 640), RegisterCell(1, 2, 640)
    assert shares([(a, 100), (b, NO_LIMIT)]) == [640, NO_LIMIT]
    assert shares([(a, 0), (b, 0)]) == [640, 640]
    assert shares([(a._replace(line_rate=RATE_MAX), 100)]) == [NO_LIMIT]


@contextmanager
def answering(*answers: bytes) -> Generator[tuple[int, list[bytes]]]:
    """A server that gives these answers to any request."""
    asked = list[bytes]()

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            for answer in answers:
                asked.append(connection.recv(4096))
                connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], asked
        thread.join(5)


def reply(fields: bytes, kind: int = 2) -> bytes:
    return struct.pack(">I", 0x80010000 | kind) + struct.pack(">i", 1) + b"x" + struct.pack(">i", 1) + fields


def test_a_call_is_thrifts_binary_protocol() -> None:
    value = struct.pack(">Bhq", 10, 0, 77) + b"\0"
    with answering(reply(value), reply(b"\0")) as (port, asked):
        client = ThriftClient("127.0.0.1", port)
        assert client.read_registers([("r", 5)]) == [77]
        client.set_queue_rate(3, 2, 100)
        client.close()
    name = b"standard:bm_register_read"
    head = struct.pack(">II", 0x80010001, len(name)) + name + struct.pack(">i", 1)
    context, index = struct.pack(">Bhi", 8, 1, 0), struct.pack(">Bhi", 8, 3, 5)
    assert asked[0] == head + context + struct.pack(">Bhi", 11, 2, 1) + b"r" + index + b"\0"


def test_calls_go_together_and_their_answers_stay_apart() -> None:
    values = b"".join(reply(struct.pack(">Bhq", 10, 0, value) + b"\0") for value in (3, 2**32 + 4))
    with answering(values, reply(b"\0")) as (port, asked):
        client = ThriftClient("127.0.0.1", port)
        assert client.read_registers([("r", 5), ("s", 6)]) == [3, 4]  # cells of 32 bits
        with pytest.raises(UnavailableError, match="BMv2 did not give register r"):
            client.read_registers([("r", 5)])
        client.close()
    assert asked[0].count(b"bm_register_read") == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"HTTP/1.1 400 Bad", "does not speak Thrift's binary protocol"),
        (reply(b"\0", kind=3), "does not know the call or its arguments"),
        (reply(struct.pack(">Bhi", 8, 1, 2)), "refused it"),
        (reply(struct.pack(">Bh", 12, 0)), "an answer of type 12"),
        (reply(b"")[:9], "BMv2 broke off: connection closed"),
        (struct.pack(">Ii", 0x80010002, -5), "does not speak Thrift's binary protocol"),
    ],
)
def test_odd_answers_are_told_in_one_line(answer: bytes, message: str) -> None:
    with answering(answer) as (port, _):
        client = ThriftClient("127.0.0.1", port)
        with pytest.raises(UnavailableError, match=message):
            client.read_registers([("r", 0)])
        client.close()


def test_an_address_that_is_none_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["switch", "bmv2-agent", "s1", "--thrift", "x", "--iface", "lo"]) == 2
    assert "argument --thrift: 'x' is no address; write HOST:PORT" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [(["--thrift", "127.0.0.1:1", "--iface", "none0"], 1, "groupflow: --iface none0: ")],
)
def test_the_command_fails_in_one_line(
    words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["switch", "bmv2-agent", "s1", *words]) == code
    error = capsys.readouterr().err
    assert error.startswith(message) and error.count("\n") == 1
