"""The part of Tofino's top that p4testgen explores, and vectors of its tests.

p4testgen does not know the port of a packet in egress, the result of a meter, nor whether a checksum is
right, and gives up paths that depend on these. So it explores ingress alone, with meters that let all pass
and right checksums, which `with_checksums` writes into the frame. A vector tells where ingress sends a
packet, not what egress makes of it. Vectors to LOOP_PORT are left out, since the packet would pass once more;
and vectors with entries that the program's rules refuse, since p4testgen knows the rules for BMv2 alone.
"""

import re

from scapy.utils import checksum

from tests.vectors.form import CPU_PORT

CPU, LOOP_PORT = 192, 68
PORTS = "testgen_assume({0} <= 8 || {0} == CPU_PORT);"
"""that the tests have"""
REPLACED = {
    r"\(bit<1>\)\w+_checksum\.verify\(\)": "0",
    r"punt_meter\.execute\(.*?\)": "0",
    r"packet\.advance\(PORT_METADATA_SIZE\);": rf"\g<0> {PORTS.format('intrinsic.ingress_port')}",
    r"for_tm\.ucast_egress_port = local\.stages\.egress_port;": (
        rf"{PORTS.format('local.stages.egress_port')} \g<0>"
    ),
    # A packet-out to the controller has another number of its port on each target.
    r"local\.stages\.egress_port = hdr\.packet_out": (
        r"testgen_assume(hdr.packet_out.egress_port <= 8); \g<0>"
    ),
    # Tofino's egress alone knows a frame's length: these frames have 120 bytes.
    r"packet\.extract\(hdr\.ipv4\);": r"\g<0> testgen_assume(hdr.ipv4.total_length <= 106);",
    # p4testgen drops what is replicated: a group has one replica, which `form.GROUPS` has, too.
    r"for_tm\.mcast_grp_a = local\.stages\.group;": (
        "testgen_assume(local.stages.group <= 8); for_tm.ucast_egress_port = (PortId_t)local.stages.group;"
    ),
    r"(parser EgressParser\(.*?state start \{).*?\}\n    \}": (
        r"\1 packet.extract(intrinsic); transition accept; }"
    ),
    r"(control (?:GroupflowEgress|EgressDeparser)\(.*?\n    apply \{).*?\n    \}": r"\1 }",
}

SECOND_PASS = "p4testgen lets a packet pass once"
REASONS = {
    r"^groupflow_tna\.p4.*local\.loop|^groupflow_tna\.p4.*queue = 7|loop_t": SECOND_PASS,
    r"ack_registers|acks\.p4.*= 24": "p4testgen does not know what a register holds",
    r"parser_failed|validation\.p4.*= 1;": "no frame of 120 bytes is too short for the parser",
    r"validation\.p4.*= 2;": "checksums are right",
    r"punting\.p4.*= 23;": "meters let all pass",
    r"advance\(48\)": "GENERATOR_PORT is no port of the tests",
}
"""why no vector covers a statement, by what it is like"""


def adapted(text: str) -> str:
    """A file of the program's copy."""
    for found, replacement in REPLACED.items():
        text = re.sub(found, replacement, text, flags=re.DOTALL)
    return text


def with_checksums(port: int, data: bytes) -> bytes:
    """A frame with right checksums of its IPv4 and group headers. The controller's begin with two bytes."""
    frame = bytearray(data)
    ip = 16 if port == CPU_PORT else 14
    if data[ip - 2 : ip] != b"\x08\x00":
        return data
    headers = [(ip, 20, 10)]
    is_first = int.from_bytes(frame[ip + 6 : ip + 8], "big") & 0x1FFF == 0
    if frame[ip] == 0x45 and frame[ip + 9] == 17 and is_first:
        headers.append((ip + 28, 24, 22))
    for begin, length, place in headers:
        frame[begin + place : begin + place + 2] = bytes(2)
        right = checksum(bytes(frame[begin : begin + length]))
        frame[begin + place : begin + place + 2] = right.to_bytes(2, "big")
    return bytes(frame)
