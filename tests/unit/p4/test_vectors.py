"""Vectors that p4testgen made of groupflow's program: gfswitch does what it found that the program says."""

from __future__ import annotations

import re
import shutil
from argparse import Namespace
from pathlib import Path

import pytest
from finsy.proto import p4i
from google.protobuf import text_format

from tests.support.p4.network import BUILD, P4INFO, frame, new_switch
from tests.vectors import generate, kinds, tofino
from tests.vectors.form import CPU_PORT, FOLDER, Out, Vector, play, vectors

PROGRAM = BUILD.parent / "groupflow_v1model.p4"

TOFINO = PROGRAM.with_name("groupflow_tna.p4")
TARGETS = {"tofino": "tna", "tofino2": "t2na"}
FILES = [FOLDER / f"groupflow_{top}.txt" for top in ("v1model", *TARGETS)]
COVERED = re.compile(r"^# \d+ vectors cover (\d+) of (\d+) statements", re.MULTILINE)


@pytest.mark.slow  # all together
@pytest.mark.parametrize(
    "vector", [pytest.param(v, id=f"{file.stem}-{v.name}") for file in FILES for v in vectors(file)]
)
def test_a_vector(vector: Vector) -> None:
    switch = new_switch()
    for cell in re.findall(r"of_cell=(\w+)", vector.text()):
        switch.set_register("queue_share", int(cell, 16), 0)  # the traffic manager's is no limit
    left, fits = play(switch, vector)
    assert fits, f"{vector.text()}left: {[(port, data.hex()) for port, data in left]}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_vectors_are_read_as_they_were_written(file: Path) -> None:
    read = list(vectors(file))
    assert file.read_text().endswith("\n".join(vector.text() for vector in read))
    assert len(read) >= 50


STF = """\
add "GroupflowIngress.forwarding.ipv4_route" 1 "ipv4_dst":0b00001010****************************** "GroupflowIngress.forwarding.route"("port":0x003,"src":0x0A,"dst":0xFF)
add "GroupflowIngress.classification.controlled_flows" 7 "ingress_port":0b00000*011 "egress_port":0b********* "GroupflowIngress.classification.to_queue"("queue":0x2)

packet 3 00FF
expect 4 0*FF$
"""  # noqa: E501 (p4testgen's lines)


def test_a_test_of_p4testgen_becomes_a_vector() -> None:
    names = generate.names_of(text_format.Parse(P4INFO.read_text(), p4i.P4Info()))
    text = STF.replace("*" * 30, "*" * 24)  # 32 bits
    vector = generate.converted(text, "one", names)
    assert vector == Vector(
        "one",
        (
            "ipv4_route ipv4_dst=0xa000000/8 => route port=0x003 src=0x0A dst=0xFF",
            "controlled_flows ingress_port=0x3&0x1f7 priority=7 => to_queue queue=0x2",
        ),
        3,
        b"\x00\xff",
        (Out(4, "0*ff"),),
    )
    new_switch().write([+entry for entry in vector.entries()])


@pytest.mark.parametrize(
    ("digits", "fits"), [("0aff", True), ("0*ff", True), ("1aff", False), ("0aff00", False)]
)
def test_a_star_stands_for_any_digit(digits: str, fits: bool) -> None:
    assert Out(4, digits).fits(4, b"\x0a\xff") is fits
    assert not Out(5, digits).fits(4, b"\x0a\xff")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_they_cover_the_program_and_tell_what_they_do_not(file: Path) -> None:
    head = file.read_text().partition("\n\n")[0]
    ((covered, total),) = COVERED.findall(head)
    open_ = re.findall(r"^#   \S+:\d+: .*\(.*\)$", head, re.MULTILINE)
    assert int(total) - int(covered) == len(open_)
    assert int(covered) >= 0.9 * int(total)


@pytest.mark.parametrize("target", TARGETS)
def test_tofinos_vectors_are_of_these_sources(target: str) -> None:
    head = (FOLDER / f"groupflow_{target}.txt").read_text().partition("\n\n")[0]
    assert f"# Of sources {generate.digest(TOFINO)}; --target {target}\n" in head, (
        "run tests.vectors.generate"
    )


@pytest.mark.rare
@pytest.mark.skipif(not shutil.which("p4testgen"), reason="p4testgen is not on PATH")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.timeout(900)
def test_p4testgen_makes_the_same_again(target: str) -> None:
    """Of one kind: the time ends a search elsewhere, but what it found until then is the same."""
    names = generate.names_of(text_format.Parse(P4INFO.read_text(), p4i.P4Info()))
    arguments = Namespace(
        program=TOFINO, target=target, arch=TARGETS[target], seconds=24, D=tofino.macros(target)
    )
    kind = {"tofino": "tcp", "tofino2": "probe"}[target]
    made = generate.found((kind, kinds.OF[target][kind]), arguments, names).vectors
    kept = [one for one in vectors(FOLDER / f"groupflow_{target}.txt") if one.name.startswith(f"{kind}-")]
    assert len(made) >= 3
    assert all(one == other for one, other in zip(made, kept, strict=False))


def test_a_test_of_tofinos_top_becomes_a_vector_of_v1model() -> None:
    names = generate.names_of(text_format.Parse(P4INFO.read_text(), p4i.P4Info()))
    right = bytes(frame(3))
    wrong = right[:24] + b"\xff\xff" + right[26:64] + b"\0\0" + right[66:]
    unknown = f"{right.hex()[:48]}****{right.hex()[52:]}"

    def stf(ingress: int, egress: int, *, front: str = "") -> str:
        add = f"add ChipIngress.ingress.sources.port_sources ingress_port:0x{ingress:03X}"
        return (
            f"{add} ChipIngress.ingress.sources.host(mac:0x1,ip:0x2)\n"
            f"packet {ingress} {front}{wrong.hex()}\nexpect 68 {egress:04x}0007{unknown}$\n"
        )

    entry = "port_sources ingress_port=0x3 => host mac=0x1 ip=0x2"
    expected = Vector("one", (entry,), 3, right, (Out(4, right.hex()),))
    assert generate.of_tofino(stf(3, 4), "one", names) == expected
    generated = generate.of_tofino(stf(tofino.GENERATOR_PORT, 4, front="00" * 6), "one", names)
    assert generated and generated.data == right, "without the generator's header"
    assert generate.of_tofino(stf(CPU_PORT, 3), "one", names) is None, "a rule of the table"


def test_only_known_checksums_are_filled_in() -> None:
    right = bytes(frame(3)).hex()
    assert tofino.expected(3, f"{right[:48]}****{right[52:]}") == right
    assert tofino.expected(3, f"**{right[2:]}") == f"**{right[2:]}"


def test_every_change_of_tofinos_top_finds_its_place() -> None:
    folders = (TOFINO.parent / "targets/tna", TOFINO.parent / "stages")
    sources = [file.read_text() for file in (TOFINO, *(f for folder in folders for f in folder.glob("*.p4")))]
    for found in tofino.REPLACED:
        assert any(re.search(found, text, re.DOTALL) for text in sources), found


def test_the_copy_of_tofinos_top_has_rules_and_registers_of_0() -> None:
    stage = tofino.adapted((TOFINO.parent / "stages/streams.p4").read_text())
    rule = "hdr.group.session != 0 && hdr.group.source != 0 && meta.ingress_port != CPU_PORT"
    assert re.search(rf"action from_branch\([^{{]*\{{ testgen_assume\({re.escape(rule)}\);", stage)
    assert "unknown_branch() {\n" in stage, "no rule for a miss"
    registers = tofino.adapted((TOFINO.parent / "targets/tna/ack_registers.p4").read_text())
    assert "(inout bit<8> last, out bit<1> result) { last = 0;" in registers
    assert "void apply(inout seq_t highest) { highest = seq; }" in registers, "what only writes stays"


def test_what_the_copy_adds_is_no_statement_of_the_program() -> None:
    registers = (TOFINO.parent / "targets/tna/ack_registers.p4").read_text().splitlines()
    cleared = next(n for n, line in enumerate(registers, 1) if "{ last = 0; }" in line)
    place = "targets/tna/ack_registers.p4"
    assert not tofino.is_added(f"{place}:{cleared}: last = 0;", TOFINO)
    assert tofino.is_added(f"{place}:{cleared + 4}: last = 0;", TOFINO)
    assert tofino.is_added("chip.p4:3: local.kind = 0;", TOFINO)


def test_every_assumption_finds_its_place_in_the_program(tmp_path: Path) -> None:
    """Else it would be lost when the program changes."""
    sources = "".join(file.read_text() for file in PROGRAM.parent.rglob("*.p4"))
    assert all(re.search(condition, sources) for condition in generate.LAZY)
    restrictions = len(generate.RESTRICTED.findall(sources))
    assert restrictions == sources.count("@action_restriction(") > 0
    for name, kind in kinds.KINDS.items():
        folder = tmp_path / name
        folder.mkdir()
        generate.assuming(PROGRAM, folder, kind)
        text = "".join(file.read_text() for file in folder.rglob("*.p4"))
        ports_and_groups = 2
        states = len({"parse_ethernet", *kind})
        assert text.count("testgen_assume(") == states + restrictions + ports_and_groups, name
        assert generate.DROPPED in text and "#include <testgen.p4>" in text
