"""Digests of a small program over P4Runtime: the values of the call, on gfswitch and on BMv2."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from finsy.proto import p4i, p4r
from google.protobuf import text_format

from groupflow.compiler import compile_p4
from tests.conformance.corpus import DEADLINE, Program, Target
from tests.support.wires import wires
from tests.unit.language.steps import PORTS, PROGRAMS, TAIL

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: virtual interfaces")
BMV2 = pytest.mark.skipif(not shutil.which("simple_switch_grpc"), reason="simple_switch_grpc is not on PATH")


@pytest.fixture(params=["gfswitch", pytest.param("bmv2", marks=BMV2)])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    with wires(PORTS) as made:
        target = Target(request.param, made)
        try:
            yield target
        finally:
            target.stop()


def test_a_digest_has_the_values_of_its_call(target: Target) -> None:
    made = compile_p4(PROGRAMS / "digest.p4")
    info = text_format.Parse(made.p4info, p4i.P4Info())
    assert target.load(Program("digest", made.json.encode(), info)) == ""
    entry = p4r.DigestEntry(digest_id=info.digests[0].preamble.id)
    entry.config.max_list_size = 1
    assert target.write(p4r.Update(type=p4r.Update.INSERT, entity=p4r.Entity(digest_entry=entry)))
    target.wires.send(1, bytes.fromhex("01000000a0a1a2") + TAIL)
    (data,) = target.messages.get(timeout=DEADLINE).digest.data
    assert [member.bitstring.lstrip(b"\0") for member in data.struct.members] == [
        b"\x01", b"\xa2", b"\x01", b"\x06", b"\x09",
    ]  # fmt: skip
