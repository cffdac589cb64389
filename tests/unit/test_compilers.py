"""groupflow's compiler and p4c over the project's own programs: the same P4Info, packets and counters."""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from finsy.proto import p4i, p4r
from google.protobuf import text_format

from groupflow.compiler import Compiled, compile_p4, run_p4c
from groupflow.switch import Switch, WriteError
from tests.conformance.corpus import PORTS, Program, entries, frames
from tests.unit.language.steps import PORTS as STEP_PORTS
from tests.unit.language.steps import programs
from tests.unit.language.test_language import run

ROOT = Path(__file__).parents[2]
TOP = ROOT / "p4src/groupflow_v1model.p4"
OWN = [*(ROOT / "dataplane/switch/tests/programs").glob("*.p4"), TOP]
GOLDEN = ROOT / "dataplane/compiler/tests/golden"
SMALL = [path.with_suffix(".p4") for path in sorted(GOLDEN.glob("*.txt")) if "error" not in path.read_text()]
SEEDS = range(3)
NOT_P4C = (
    "action_data_signed", "direct_meter", "for_in", "for_loops", "header_variables", "index_of_place",
    "loop_left", "loop_variable", "loops_by_packet", "no_match", "register_slice", "slice_of_signed",
    "union_fields", "union_stack",
)  # fmt: skip
"""programs of which p4c makes nothing, or something else than the specification says"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("p4c-bm2-ss"), reason="p4c-bm2-ss is not on PATH"),
]


def switch(made: Compiled, folder: Path) -> Switch:
    return Switch.load(*made.write(folder, "program"), ports=PORTS)


def outcome(loaded: Switch, program: Program, seed: int) -> Iterator[Any]:
    """Which entries the switch takes, the frames it sends for each frame, and its counters and registers."""
    draw = random.Random(f"{seed} {program.name}")
    for update in entries(program, draw):
        try:
            loaded.write(update)
            yield "taken"
        except WriteError as error:
            yield str(error)
    for place, (port, frame) in enumerate(frames(draw)):
        try:
            yield loaded.run(port, frame, place * 1000)
        except ValueError as error:
            yield str(error)
    for counter in program.p4info.counters:
        with contextlib.suppress(ValueError):
            yield loaded.read(p4r.Entity(counter_entry=p4r.CounterEntry(counter_id=counter.preamble.id)))


@pytest.mark.parametrize("source", [*OWN, *SMALL], ids=lambda path: path.stem)
def test_both_compilers_make_the_same_of_a_program(source: Path, tmp_path: Path) -> None:
    ours, theirs = compile_p4(source), run_p4c(source)
    infos = [text_format.Parse(made.p4info, p4i.P4Info()) for made in (ours, theirs)]
    assert infos[0] == infos[1]
    program = Program(source.stem, theirs.json.encode(), infos[1])
    for seed in SEEDS:
        got = [list(outcome(switch(made, tmp_path), program, seed)) for made in (ours, theirs)]
        assert got[0] == got[1]


@pytest.mark.parametrize(
    "path", [path for path in programs() if path.stem not in NOT_P4C], ids=lambda path: path.stem
)
def test_p4c_makes_the_same_of_the_language(path: Path, tmp_path: Path) -> None:
    ours, theirs = compile_p4(path), run_p4c(path)
    infos = [text_format.Parse(made.p4info, p4i.P4Info()) for made in (ours, theirs)]
    assert infos[0] == infos[1]
    run(Switch.load(*theirs.write(tmp_path, "program"), ports=STEP_PORTS), path)
