"""The vectors of tests/vectors on BMv2: it does as p4testgen and gfswitch do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from groupflow.switch import Output
from tests.conformance.conftest import free_port
from tests.conformance.process_switch import ProcessSwitch, bmv2_command
from tests.support.wires import wires
from tests.vectors.form import FOLDER, Vector, play, vectors

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: virtual interfaces"),
    pytest.mark.skipif(not shutil.which("simple_switch_grpc"), reason="simple_switch_grpc is not on PATH"),
]
VECTORS = [
    pytest.param(vector, id=f"{top}-{vector.name}")
    for top in ("groupflow_v1model", "groupflow_tofino", "groupflow_tofino2")
    for vector in vectors(FOLDER / f"{top}.txt")
]
REGISTERS = ("streams ", "feedback_sources ", "ticks ")
"""tables without whose entries no register changes"""


class Unmarked(ProcessSwitch):
    """A switch on which random entries may drop what the tests of a session use as markers."""

    def run(self, port: int, packet: Any, now_ns: int = 0) -> list[Output]:
        return self.run_unmarked(port, bytes(packet))

    def advance(self, now_ns: int) -> list[Output]:
        return self.advance_unmarked()


@pytest.fixture(scope="module")
def bmv2() -> Iterator[ProcessSwitch]:
    with wires(list(range(9))) as made:
        port = free_port()
        command = bmv2_command(made, port, free_port())
        switch = Unmarked(command, made, f"127.0.0.1:{port}", device_id=1)
        try:
            switch.start()
            yield switch
        finally:
            switch.stop()


@pytest.mark.parametrize("vector", VECTORS)
def test_a_vector(vector: Vector, bmv2: ProcessSwitch) -> None:
    bmv2.clear()  # first: a program loaded anew leaves BMv2's multicast groups there
    if any(line.startswith(REGISTERS) for line in vector.inserts):
        bmv2.load()
    left, fits = play(bmv2, vector)
    assert fits, f"{vector.text()}left: {[(port, data.hex()) for port, data in left]}"
