"""Runs the P4 tests of tests/unit/p4 on processes: gfswitch, and simple_switch_grpc where it is installed."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator

import pytest

from tests.conformance.process_switch import ProcessSwitch, bmv2_command, gfswitch_command
from tests.support.p4 import network
from tests.support.p4.layers import SYNC
from tests.support.wires import wires

PORTS = [1, 2, 3, 4, 5, 6]


def free_port() -> int:
    """A TCP port that no program uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session", params=["gfswitch", "bmv2"])
def target(request: pytest.FixtureRequest) -> Iterator[ProcessSwitch]:
    """A running switch with the program."""
    if os.geteuid() != 0:
        pytest.skip("needs root: virtual interfaces")
    if request.param == "bmv2" and not shutil.which("simple_switch_grpc"):
        pytest.skip("simple_switch_grpc is not on PATH")
    command = {"gfswitch": gfswitch_command, "bmv2": bmv2_command}[request.param]
    with wires(PORTS) as made:
        port = free_port()
        running = ProcessSwitch(command(made, port), made, f"127.0.0.1:{port}", device_id=1)
        try:
            running.start()
            yield running
        finally:
            running.stop()


@pytest.fixture
def bare(target: ProcessSwitch) -> ProcessSwitch:
    """The switch without entries."""
    target.clear()
    return target


@pytest.fixture
def switch(bare: ProcessSwitch) -> ProcessSwitch:
    """The switch with the session of network.py: packets were sent, and none is acknowledged."""
    network.with_session(bare)  # type: ignore[arg-type]
    network.reset(bare)  # type: ignore[arg-type]
    bare.run(network.UPSTREAM, network.frame(network.UPSTREAM, SYNC, seq=1000))
    bare.packet_ins.clear()
    return bare
