"""The controller with groupflow's program as other targets and sizes have it: its entries, and its room."""

from pathlib import Path

import pytest
from finsy.proto import p4i
from google.protobuf import text_format

from groupflow.compiler import compile_p4
from groupflow.errors import Error
from groupflow.model.flow import FlowRequest
from groupflow.p4rt.entries import GROUPS, INSERT, PUNT_METER, Change, encode, wildcards
from groupflow.p4rt.program import Program, ProgramError, Room
from groupflow.switch import Switch
from tests.support.world import BUILD, JSON, P4INFO, world

CHIPS = ("tofino", "tofino2")
TOPOLOGY = """
switches: {s1: {device_id: 1, grpc: 9561}}
hosts: {"h{1..10}": {}}
links: [{ends: ["h{1..10}", "s1-p{128..137}"]}]
"""
"""ports of a chip's second pipe"""


@pytest.fixture
def blob(tmp_path: Path) -> Path:
    """A configuration by a vendor's compiler: only the chip's driver can read it."""
    path = tmp_path / "tofino.bin"
    path.write_bytes(b"\x00\xff\x01")
    return path


def p4info(name: str) -> Path:
    return BUILD / "tna" / name / "p4info.txtpb"


def chips(name: str, blob: Path) -> Program:
    return Program.load(p4info(name), blob)


@pytest.mark.parametrize(("name", "diffusion"), [("tofino", False), ("tofino2", True)])
def test_a_chips_program_says_what_it_has_room_for(name: str, diffusion: bool, blob: Path) -> None:
    program = chips(name, blob)
    assert (program.room, program.has_diffusion) == (Room(16384, 8), diffusion)
    assert program.blob == blob.read_bytes()
    assert Program.load(P4INFO, JSON).room == Room(4096, 16)


def test_the_room_is_that_of_the_sizes_which_a_program_was_compiled_with(tmp_path: Path) -> None:
    sizes = {"MAX_STREAMS": "64", "BRANCHES": "8"}
    made = compile_p4(BUILD.parent / "groupflow_v1model.p4", defines=sizes)
    (tmp_path / "small.json").write_text(made.json)
    (tmp_path / "small.p4info.txtpb").write_text(made.p4info)
    program = Program.load(tmp_path / "small.p4info.txtpb", tmp_path / "small.json")
    assert program.room == Room(64, 8)


def test_a_program_with_a_part_of_diffusion_is_none(tmp_path: Path, blob: Path) -> None:
    text = (BUILD / "tna/tofino2/p4info.txtpb").read_text()
    other = tmp_path / "p4info.txtpb"
    other.write_text(text.replace('alias: "ticks"', 'alias: "tocks"'))
    with pytest.raises(ProgramError, match="no table 'ticks'"):
        Program.load(other, blob)


@pytest.mark.parametrize("name", CHIPS)
async def test_a_chip_gets_the_entries_that_gfswitch_gets(name: str, blob: Path) -> None:
    program, ours = chips(name, blob), Program.load(P4INFO, JSON)
    async with world(TOPOLOGY, program=program) as w:
        await w.session()
        await w.host("h1").join(7, "sender")
        for number in range(2, 10):
            await w.host(f"h{number}").join(7)
        await w.settle()
        entries = w.switches["s1"].entries
        assert {"streams", "branches", "ipv4_route", "neighbours", GROUPS} <= {key.table for key in entries}
        for key, value in entries.items():
            made, expected = (encode(each, Change(INSERT, key, value)) for each in (program, ours))
            if key.table == PUNT_METER:  # the compiler makes its id
                expected.entity.meter_entry.meter_id = program.meters[PUNT_METER]
            assert made == expected, key
        assert {entity.table_entry.table_id for entity in wildcards(program)} <= {
            entity.table_entry.table_id for entity in wildcards(ours)
        }
        refused = await w.host("h10").join(7)
        assert "8 branches" in refused.text, "the ninth receiver"


def restricted_as(name: str, folder: Path) -> Switch:
    """gfswitch with groupflow's program, whose entries are as legal as those of a chip."""
    info, chip = (text_format.Parse(path.read_text(), p4i.P4Info()) for path in (P4INFO, p4info(name)))
    restrictions = {item.preamble.id: item.preamble.annotations for item in (*chip.tables, *chip.actions)}
    for item in (*info.tables, *info.actions):
        del item.preamble.annotations[:]
        item.preamble.annotations.extend(restrictions.get(item.preamble.id, ()))
    path = folder / "restricted.txtpb"
    path.write_text(text_format.MessageToString(info))
    return Switch.load(JSON, path)


async def test_a_chip_with_diffusion_gets_its_entries(blob: Path, tmp_path: Path) -> None:
    """But for queues and generators, which the chip's driver sets. The chip finds each entry legal."""
    program, ours = chips("tofino2", blob), Program.load(P4INFO, JSON)
    tables = {"controlled_flows", "feedback_sources", "ticks"}
    found: set[str] = set()
    async with world(program=program) as w:
        flow = FlowRequest(kind="flow", src="h1", dst="h4", protocol="udp", dst_port=5001)
        await w.running.diffusion.install(flow)
        await w.settle()
        for fake in w.switches.values():
            chip = restricted_as("tofino2", tmp_path)
            for key, value in fake.entries.items():
                if key.table in tables:
                    found.add(key.table)
                    change = Change(INSERT, key, value)
                    update = encode(program, change)
                    assert update == encode(ours, change), key
                    chip.write(update)
    assert found == tables


async def test_diffusion_is_refused_where_the_program_has_none(blob: Path) -> None:
    async with world(program=chips("tofino", blob)) as w:
        flow = FlowRequest(kind="flow", src="h1", dst="h4", protocol="udp", dst_port=5001)
        with pytest.raises(Error, match="the switches' program has no diffusion"):
            await w.running.diffusion.install(flow)
