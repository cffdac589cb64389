"""Vectors that p4testgen made of groupflow's program: gfswitch does what it found that the program says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from finsy.proto import p4i
from google.protobuf import text_format

from tests.support.p4.network import BUILD, P4INFO, frame, new_switch
from tests.vectors import generate, tofino
from tests.vectors.form import ANY, CPU_PORT, FOLDER, Out, Vector, play, vectors

PROGRAM = BUILD.parent / "groupflow_v1model.p4"

FILES = [FOLDER / "groupflow_v1model.txt", FOLDER / "groupflow_tna.txt"]


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


def test_a_test_of_tofinos_ingress_has_right_checksums_and_any_bytes() -> None:
    names = generate.names_of(text_format.Parse(P4INFO.read_text(), p4i.P4Info()))
    right = bytes(frame(3))
    wrong = right[:24] + b"\xff\xff" + right[26:64] + b"\0\0" + right[66:]

    def stf(ingress: int, egress: int) -> str:
        add = f"add GroupflowIngress.sources.port_sources ingress_port:0x{ingress:03X}"
        return (
            f"{add} GroupflowIngress.sources.host(mac:0x1,ip:0x2)\n"
            f"packet {ingress} {wrong.hex()}\nexpect {egress} *0$\n"
        )

    entry = "port_sources ingress_port=0x3 => host mac=0x1 ip=0x2"
    assert generate.of_tofino(stf(3, tofino.CPU), "one", names) == Vector(
        "one", (entry,), 3, right, (Out(CPU_PORT, ANY),)
    )
    assert generate.of_tofino(stf(3, tofino.LOOP_PORT), "one", names) is None
    assert generate.of_tofino(stf(tofino.CPU, 3), "one", names) is None, "a rule of the table"
    assert Out(3, ANY).fits(3, b"\1") and not Out(3, ANY).fits(4, b"\1")


def test_every_change_of_tofinos_top_finds_its_place() -> None:
    top = PROGRAM.with_name("groupflow_tna.p4")
    sources = [
        file.read_text()
        for file in (top, *(top.parent / "targets/tna").glob("*.p4"), *(top.parent / "stages").glob("*.p4"))
    ]
    for found in tofino.REPLACED:
        assert any(re.search(found, text, re.DOTALL) for text in sources), found


def test_every_assumption_finds_its_place_in_the_program(tmp_path: Path) -> None:
    """Else it would be lost when the program changes."""
    sources = "".join(file.read_text() for file in PROGRAM.parent.rglob("*.p4"))
    assert all(re.search(condition, sources) for condition in generate.LAZY)
    restrictions = len(generate.RESTRICTED.findall(sources))
    assert restrictions == sources.count("@action_restriction(") > 0
    for name, kind in generate.KINDS.items():
        folder = tmp_path / name
        folder.mkdir()
        generate.assuming(PROGRAM, folder, kind)
        text = "".join(file.read_text() for file in folder.rglob("*.p4"))
        ports_and_groups = 2
        states = len({"parse_ethernet", *kind})
        assert text.count("testgen_assume(") == states + restrictions + ports_and_groups, name
        assert generate.DROPPED in text and "#include <testgen.p4>" in text
