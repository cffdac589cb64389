"""The rate agent beside a real simple_switch_grpc: ticks, feedback, and rates that BMv2 obeys."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator

import finsy as fy
import pytest

from groupflow.diffusion.bmv2_agent import Cell, RateAgent, Tick
from groupflow.diffusion.thrift_client import ThriftClient
from tests.conformance.conftest import free_port
from tests.conformance.process_switch import ProcessSwitch, bmv2_command
from tests.conformance.wires import Wires, wires
from tests.unit.p4.diffusion import (
    FEEDBACK,
    RATE_MAX,
    Feedback,
    feedback,
    parsed,
    source_entry,
    tick,
    tick_entry,
)
from tests.unit.p4.network import ROUTER_MAC, frame, mac, ports

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
                    +fy.P4TableEntry(
                        "station",
                        match=fy.P4TableMatch({"hdr.ethernet.dst": ROUTER_MAC}),
                        action=fy.P4TableAction("for_us"),
                    ),
                    +fy.P4TableEntry(
                        "ipv4_route",
                        match=fy.P4TableMatch({"hdr.ipv4.dst": "10.0.0.0/24"}),
                        action=fy.P4TableAction("route", port=DOWN, src=ROUTER_MAC, dst=mac(3)),
                    ),
                    +fy.P4TableEntry(
                        "controlled_flows",
                        priority=1,
                        match=fy.P4TableMatch({"meta.ingress_port": UP}),
                        action=fy.P4TableAction("to_queue", flow=5, queue=QUEUE),
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
    agent.control([Cell(DOWN, QUEUE, LINE)], [Tick(10**9, tick())])
    agent.round(0)
    (told,) = wait_for_feedback(bmv2)
    assert (told.r, told.n) == (RATE_MAX, 0)  # nothing heard yet, and no rate to share the link by

    def burst(count: int) -> int:
        """How many of some packets leave before markers that are sent after them."""
        for _ in range(count):
            bmv2.inject(UP, data())
        return len([port for port in ports(bmv2.advance(0)) if port == DOWN])

    assert burst(10) == 10
    bmv2.run(DOWN, feedback(r=0))
    agent.round(0)
    assert burst(10) <= 3  # a pause is 1 packet/s: what is left waits
    bmv2.run(DOWN, feedback(r=LINE))
    agent.round(0)
    assert burst(0) < 7  # BMv2's limit: what waits keeps the departure times of the rate before
    agent.control([], [])
    client.close()


def wait_for_feedback(bmv2: ProcessSwitch) -> list[Feedback]:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        found = [output for output in bmv2.advance(0) if output.frame[12:14] == FEEDBACK.to_bytes(2, "big")]
        if found:
            assert ports(found) == [UP]
            return [parsed(output) for output in found]
    raise AssertionError("no feedback within 5 s")
