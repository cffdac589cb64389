"""The top for Tofino and Tofino 2: its compiler places it, and a controller finds the same entities."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest
from finsy.proto import p4i
from google.protobuf import text_format

from tests.support.p4.network import P4INFO

ROOT = Path(__file__).parents[3]


class Chip(NamedTuple):
    name: str
    stages: int
    """of its ingress, and as many of its egress"""


CHIPS = [Chip("tofino", 12), Chip("tofino2", 20)]
DIFFUSION = {
    *("feedback_sources", "ticks", "external_reports"),
    *("from_downstream", "wrong_neighbour", "report", "unknown_flow", "report_external"),
    *("feedback_counter", "tick_counter"),
    *("queue_depth", "queue_rate", "queue_share", "heard_headroom", "heard_depth"),
    *("report_depth", "report_rate"),
}
MISSING = {"tofino": DIFFUSION | {"left_behind"}, "tofino2": {"left_behind"}}
"""entities that a chip's program lacks, beside the registers of branches 8 to 15"""

BUILT = ROOT / "p4src/build/tna"
SOURCES = ("p4src/groupflow_tna.p4", "p4src/stages/*.p4", "p4src/targets/tna/*.p4")

every_chip = pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)


def test_what_is_built_is_of_these_sources() -> None:
    hashes = (
        f"{sha256(file.read_bytes()).hexdigest()}  {file.relative_to(ROOT)}\n"
        for pattern in SOURCES
        for file in sorted(ROOT.glob(pattern))
    )
    assert (BUILT / "sources.sha256").read_text() == "".join(hashes), "run `make p4-tna`"


@every_chip
def test_the_page_has_the_reports_figures(chip: Chip) -> None:
    (report,) = json.loads((BUILT / chip.name / "fit.json").read_text())
    assert (report["target"], report["stages_available"]) == (chip.name, chip.stages)
    page = (ROOT / "docs/how-to/port-to-a-switch.md").read_text()
    used = len(report["stages"])
    assert used <= chip.stages
    assert (
        f"| {chip.name.replace('tofino', 'Tofino').replace('o2', 'o 2')} | {used} of {chip.stages} stages"
        in page
    )
    assert f"{used} of {chip.stages} stages of {chip.name}" in (BUILT / chip.name / "fit.txt").read_text()


ONE_PIPES = {"GroupflowIngress.session.bound.sent.sent", "queue_depth"}
"""registers that hold what their pipe alone has seen: AckBound compares the pipes, and the ghost thread of
each pipe hears of all queues"""


@every_chip
def test_registers_where_ports_meet_are_in_the_egress_of_one(chip: Chip) -> None:
    """Each pipe has its own: a tick, say, comes in by another than the feedback that it recalls."""
    schema = json.loads((BUILT / chip.name / "bf-rt.json").read_text())
    registers = {
        table["name"].removeprefix("pipe.") for table in schema["tables"] if table["table_type"] == "Register"
    }
    assert len(registers) > 10 and "GroupflowIngress.session.bound.sent.sent" in registers
    others = registers - ONE_PIPES - {"queue_rate", "queue_share"}  # their names have no control
    assert all(name.startswith("GroupflowEgress.") for name in others), others


def test_a_bound_is_judged_within_one_pipe() -> None:
    source = (ROOT / "p4src/targets/tna/ack_registers.p4").read_text()
    compared = re.findall(r"^ *\((.*)\) : compare\(\);", source, re.MULTILINE)
    assert compared == [f"TYPE_ACK,    _, _,            PIPE({n}), PIPE({n})" for n in range(4)]


@pytest.mark.rare  # minutes a chip
@pytest.mark.timeout(900)
@pytest.mark.skipif(not shutil.which("p4c-barefoot"), reason="p4c-barefoot is not on PATH")
@every_chip
def test_the_compiler_makes_what_is_built(chip: Chip, tmp_path: Path) -> None:
    subprocess.run(["make", f"p4-tna-{chip.name}", f"TNA={tmp_path}"], cwd=ROOT, check=True)
    for built in (BUILT / chip.name).iterdir():
        assert settled(tmp_path / chip.name / built.name) == settled(built), "run `make p4-tna`"
    # The compiler counts on where a chip ends; only the assembler would say so.
    assembly = (ROOT / "out/tna" / chip.name / "pipe/groupflow_tna.bfa").read_text()
    for gress in ("ingress", "egress"):
        stages = [int(stage) for stage in re.findall(rf"^stage (\d+) {gress}:", assembly, re.MULTILINE)]
        assert stages and max(stages) < chip.stages, gress
    ingress = assembly.partition("phv egress:")[0]
    carried = set(
        re.findall(r"^  local\.stages\.bridged\.\w+: (?:\{ +stage \d+: )?T?([BHW])(\d+)", ingress, re.M)
    )
    size = sum({"B": 1, "H": 2, "W": 4}[container] for container, _ in carried)
    counted = f"#define EGRESS_EXTRA  (4 + {size})\n"
    assert counted in (ROOT / "p4src/targets/tna/intrinsic.p4").read_text(), "bytes of bridged_t"


def settled(file: Path) -> object:
    """The part of a file that the sources decide: the compiler orders tables of snapshots by chance."""
    if file.name != "bf-rt.json":
        return file.read_text()
    schema = json.loads(file.read_text())
    tables = [table for table in schema["tables"] if not table["name"].startswith("pipe.snapshot.")]
    assert 0 < len(tables) == len(schema["tables"]) - 7
    return schema | {"tables": tables}


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


@every_chip
def test_a_controller_finds_the_same_entities(chip: Chip) -> None:
    made, ours = entities(BUILT / chip.name / "p4info.txtpb"), entities(P4INFO)
    assert made - ours == Counter()
    assert Counter(name for name, _, _ in (ours - made).elements()) == Counter(
        [*MISSING[chip.name], *["acked"] * 8]
    )
