"""The rate agent beside a real simple_switch_grpc: ticks, feedback, and rates that BMv2 obeys."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Iterator
from fractions import Fraction

import finsy as fy
import pytest

from groupflow.control.diffusion.bmv2_agent import (
    QUEUE_DEPTH,
    QUEUE_RATE,
    RateAgent,
    RegisterCell,
    ThriftClient,
    Tick,
)
from groupflow.control.diffusion.coefficients import alpha_coefficient, clamp_limit, diffusion_coefficient
from tests.conformance.conftest import free_port
from tests.conformance.process_switch import ProcessSwitch, bmv2_command
from tests.support.p4.diffusion import (
    FEEDBACK,
    RATE_MAX,
    Feedback,
    feedback,
    parsed,
    source_entry,
    tick,
    tick_entry,
)
from tests.support.p4.network import ROUTER_MAC, admit_entry, frame, new_switch, ports, route_entry
from tests.support.wires import Wires, wires

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: virtual interfaces"),
    pytest.mark.skipif(not shutil.which("simple_switch_grpc"), reason="simple_switch_grpc is not on PATH"),
]
UP, DOWN, QUEUE, LINE = 7, 8, 3, 640_000
THRIFT = 9191


@pytest.fixture
def generator() -> Iterator[Wires]:
    """The wire at port 0, where ticks come from."""
    with wires([0]) as made:
        yield made


@pytest.fixture
def bmv2(generator: Wires) -> Iterator[ProcessSwitch]:
    """A switch with one controlled flow from port 7 to port 8."""
    with wires([UP, DOWN]) as made:
        port = free_port()
        command = bmv2_command(made, port, THRIFT)
        command[1:1] = ["-i", f"0@{generator.switch_end(0)}"]
        switch = ProcessSwitch(command, made, f"127.0.0.1:{port}", device_id=1)
        try:
            switch.start()
            switch.write(
                [
                    +source_entry(port=DOWN, queue=QUEUE),
                    +tick_entry(port=DOWN, queue=QUEUE, to_port=UP),
                    +admit_entry(),
                    +route_entry("10.0.0.0/24", DOWN),
                    +fy.P4TableEntry(
                        "controlled_flows",
                        priority=1,
                        match=fy.P4TableMatch({"ingress_port": UP}),
                        action=fy.P4TableAction("to_queue", queue=QUEUE),
                    ),
                ]
            )
            yield switch
        finally:
            switch.stop()


def data() -> bytes:
    packet = frame(UP, dst="10.0.0.3")
    packet.dst = ROUTER_MAC
    packet["UDP"].sport = packet["UDP"].dport = 9
    packet["UDP"].remove_payload()
    return bytes(packet)


def test_feedback_sets_a_rate_that_bmv2_obeys(bmv2: ProcessSwitch, generator: Wires) -> None:
    client = ThriftClient("127.0.0.1", THRIFT)
    agent = RateAgent(client, lambda sent: generator.send(0, sent))
    agent.control([RegisterCell(DOWN, QUEUE, LINE)], [Tick(10**9, tick())])
    agent.round(0)
    (told,) = wait_for_feedback(bmv2)
    assert (told.r, told.n) == (RATE_MAX, 0)  # nothing heard yet, and no rate to share the link by

    def burst(count: int) -> int:
        """Number of packets of a burst that leave before markers sent after it."""
        for _ in range(count):
            bmv2.inject(UP, data())
        return len([port for port in ports(bmv2.advance(0)) if port == DOWN])

    assert burst(10) == 10
    bmv2.run(DOWN, feedback(r=0))
    agent.round(0)
    assert burst(60) < 30  # a pause is 50 packets/s: the rest waits, for 1.2 s in all
    bmv2.run(DOWN, feedback(r=LINE))
    agent.round(0)
    assert burst(0) < 30  # BMv2's limit: waiting packets keep the departure times of the rate before
    agent.control([], [])
    client.close()


def test_bmv2_computes_as_gfswitch_does(bmv2: ProcessSwitch) -> None:
    """Random reports and coefficients, negative and saturating ones among them: the same rate on both."""
    client, chance, twin = ThriftClient("127.0.0.1", THRIFT), random.Random(20061001), new_switch()
    cell = DOWN * 8 + QUEUE
    twin.write([+source_entry(port=DOWN, queue=QUEUE)])
    for _ in range(60):
        alpha = alpha_coefficient(Fraction(chance.randint(1000, 2000), 1000))
        d = diffusion_coefficient(Fraction(1, 10), chance.randint(100_000, 10**9))
        here, there = chance.choice([0, 7, 1800, 2**32 - 1]), chance.choice([0, 5, 100_000, 2**31])
        r = chance.choice([0, 401, -401, 64_001, RATE_MAX, -RATE_MAX - 1])
        client.write_registers([(QUEUE_DEPTH, cell, here)])
        twin.set_register("queue_depth", cell, here)
        for switch in (bmv2, twin):
            limit = clamp_limit(d)
            switch.write([~source_entry(port=DOWN, queue=QUEUE, alpha=alpha.codes, d=d.codes, limit=limit)])
            switch.run(DOWN, feedback(r=r, n=there))
        rates = [client.read_registers([(QUEUE_RATE, cell)])[0], twin.register("queue_rate", cell)]
        assert rates[0] == rates[1], (alpha, d, here, there, r)
    client.close()


def wait_for_feedback(bmv2: ProcessSwitch) -> list[Feedback]:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        found = [output for output in bmv2.advance(0) if output.frame[12:14] == FEEDBACK.to_bytes(2, "big")]
        if found:
            assert ports(found) == [UP]
            return [parsed(output) for output in found]
    raise AssertionError("no feedback within 5 s")
