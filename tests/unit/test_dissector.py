"""The dissector for Wireshark: the fields of the P4 program's header, and tshark where it is installed."""

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from groupflow.data import DISSECTOR
from groupflow.lab.frames import GROUP_PORT, group_frame

HEADERS = Path(__file__).parents[2] / "p4src/stages/headers.p4"


def test_fields_and_types_are_those_of_the_p4() -> None:
    p4, lua = HEADERS.read_text(), DISSECTOR.read_text()
    widths = {name: int(bits) for bits, name in re.findall(r"typedef bit<(\d+)>\s+(\w+);", p4)}
    declared = re.search(r"header group_header_t \{(.*?)\n\}", p4, re.DOTALL)
    assert declared is not None
    fields = re.findall(r"^ +(?:bit<(\d+)>|(\w+)) +(\w+);", declared[1], re.MULTILINE)
    expected = [(name, int(bits) if bits else widths[kind]) for bits, kind, name in fields]
    assert len(expected) == 11
    assert [(name, int(bits)) for name, bits in re.findall(r'\{ "(\w+)", (\d+),', lua)] == expected
    types = re.findall(r"bit<8> TYPE_(\w+) += (\d+);", p4)
    assert [(name, number) for number, name in re.findall(r'\[(\d+)\] = "(\w+)"', lua)] == types
    assert f"local PORT = {GROUP_PORT}\n" in lua and f"UDP_PORT_GROUPFLOW = {GROUP_PORT};" in p4
    version = re.search(r"GROUPFLOW_VERSION +=( \d+);", p4)
    assert version is not None and f"local VERSION ={version[1]}\n" in lua


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.slow
def test_tshark_shows_the_header(tmp_path: Path) -> None:
    frame = group_frame(
        4,
        eth=("02:00:00:00:00:02", "02:00:00:00:00:01"),
        ip=("10.0.0.2", "10.0.0.1"),
        udp=(4000, GROUP_PORT),
        session=7,
        source=2,
        member=3,
        seq=70000,
    )
    capture = tmp_path / "one.pcap"
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    capture.write_bytes(header + struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame)
    shown = ("session", "type", "member", "seq")
    command = ["tshark", "-X", f"lua_script:{DISSECTOR}", "-r", capture, "-T", "fields", "-e", "_ws.col.Info"]
    command += [word for name in shown for word in ("-e", f"groupflow.{name}")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = ["NACK session 7 source 2 member 3 seq 70000", "7", "4", "3", "70000"]
    assert done.stdout.rstrip("\n").split("\t") == expected, done.stderr
