"""The top for Tofino and Tofino 2: its compiler places it, and a controller finds the same entities."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest
from finsy.proto import p4i
from google.protobuf import text_format

from tests.support.p4.network import P4INFO

ROOT = Path(__file__).parents[3]


class Chip(NamedTuple):
    name: str
    arch: str
    number: int
    stages: int
    """of its ingress, and as many of its egress"""


CHIPS = [Chip("tofino", "tna", 1, 12), Chip("tofino2", "t2na", 2, 20)]
DIFFUSION = {
    *("feedback_sources", "ticks", "external_reports"),
    *("from_downstream", "wrong_neighbour", "report", "unknown_flow", "report_external"),
    *("feedback_counter", "tick_counter"),
    *("queue_depth", "queue_rate", "queue_share", "heard_headroom", "heard_depth"),
    *("report_depth", "report_rate"),
}
MISSING = {"tofino": DIFFUSION | {"left_behind"}, "tofino2": {"left_behind"}}
"""entities that a chip's program lacks, beside the registers of branches 8 to 15"""

pytestmark = [
    pytest.mark.rare,  # minutes a chip
    pytest.mark.timeout(900),
    pytest.mark.skipif(not shutil.which("p4c-barefoot"), reason="p4c-barefoot is not on PATH"),
]


@pytest.fixture(scope="module", params=CHIPS, ids=lambda chip: chip.name)
def placed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Chip, Path]:
    """A chip, and the folder with what its compiler made of the program."""
    chip: Chip = request.param
    out = tmp_path_factory.mktemp(chip.name)
    command = [
        *("p4c-barefoot", "--target", chip.name, "--arch", chip.arch, "--std", "p4-16", "-g", "-o", out),
        *("--p4runtime-force-std-externs", "--p4runtime-files", out / "p4info.txtpb"),
        *(f"-D__TARGET_TOFINO__={chip.number}", ROOT / "p4src/groupflow_tna.p4"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "\n0 errors" in f"\n{done.stderr}", done.stderr
    return chip, out


def test_the_chip_has_a_stage_for_each_table(placed: tuple[Chip, Path]) -> None:
    """The compiler counts on where a chip ends; only the assembler would say so."""
    chip, out = placed
    assembly = (out / "pipe/groupflow_tna.bfa").read_text()
    for gress in ("ingress", "egress"):
        stages = [int(stage) for stage in re.findall(rf"^stage (\d+) {gress}:", assembly, re.MULTILINE)]
        assert stages and max(stages) < chip.stages, gress


Fields: TypeAlias = Sequence[p4i.MatchField | p4i.Action.Param]


def entities(path: Path) -> Counter[tuple[str, int | None, tuple[tuple[int, str], ...]]]:
    """Each entity's last name and id, and the ids and names of its keys or parameters.

    Without the ids of counters, meters and registers, which the compiler makes of their names.
    """
    info = text_format.Parse(path.read_text(), p4i.P4Info())
    externs = (info.counters, info.direct_counters, info.meters, info.registers)
    found: list[tuple[str, int | None, Fields]] = [
        (item.preamble.name, None, []) for items in externs for item in items
    ]
    found += [(table.preamble.name, table.preamble.id, table.match_fields) for table in info.tables]
    found += [(action.preamble.name, action.preamble.id, action.params) for action in info.actions]
    return Counter(
        (name.rpartition(".")[2], number, tuple((field.id, field.name) for field in fields))
        for name, number, fields in found
        if name != "NoAction"
    )


def test_a_controller_finds_the_same_entities(placed: tuple[Chip, Path]) -> None:
    chip, out = placed
    made, ours = entities(out / "p4info.txtpb"), entities(P4INFO)
    assert made - ours == Counter()
    assert Counter(name for name, _, _ in (ours - made).elements()) == Counter(
        [*MISSING[chip.name], *["acked"] * 8]
    )
