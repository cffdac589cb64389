"""groupflow's compiler and BMv2: the programs of tests/unit/language do there as the specification says."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from finsy.p4entity import encode_updates
from finsy.proto import p4i, p4r
from google.protobuf import text_format

from groupflow.compiler import compile_p4
from groupflow.schema import read_schema
from tests.conformance.corpus import Program, Target
from tests.support.wires import wires
from tests.unit.language.steps import PORTS, Frame, programs, steps

LIMIT = 5.0
QUIET = 0.02
"""seconds: until frames have left, and without a further one"""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: virtual interfaces"),
    pytest.mark.skipif(not shutil.which("simple_switch_grpc"), reason="simple_switch_grpc is not on PATH"),
]


@pytest.fixture(scope="module")
def bmv2() -> Iterator[Target]:
    with wires(PORTS) as made:
        target = Target("bmv2", made)
        try:
            yield target
        finally:
            target.stop()


def left(target: Target, number: int) -> list[tuple[int, bytes]]:
    """The frames that leave, by port: at least so many, if they come in time."""
    found: list[tuple[int, bytes]] = []
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        more = [(port, frame) for port in PORTS for frame in target.wires.received(port)]
        found += more
        if len(found) >= number:
            end = min(end, time.monotonic() + QUIET)
        time.sleep(0.002)
    return sorted(found)


# BMv2 offers no value sets over P4Runtime.
@pytest.mark.parametrize(
    "path", [path for path in programs() if not path.stem.startswith("value_set")], ids=lambda p: p.stem
)
def test_a_program_does_on_bmv2_as_the_specification_says(path: Path, bmv2: Target) -> None:
    made = compile_p4(path)
    program = Program(path.stem, made.json.encode(), text_format.Parse(made.p4info, p4i.P4Info()))
    assert bmv2.load(program) == ""
    schema = read_schema(program.p4info)
    for step in steps(path):
        if isinstance(step, Frame):
            bmv2.wires.send(step.port, step.data)
            assert left(bmv2, len(step.out)) == step.out
        else:
            updates = [update for update in encode_updates([+step], schema) if isinstance(update, p4r.Update)]
            assert all(map(bmv2.write, updates))
