"""The top for Tofino and Tofino 2 as p4testgen explores it whole, and vectors of its tests.

p4testgen lets a packet pass ingress and egress once, does not know what a register holds nor whether a
checksum is right, and drops what is replicated. So it explores a copy of the program, which differs so:

- `chip.p4` makes the second pass of an acknowledgement, feedback or a tick within egress;
- registers hold 0, as on a switch without history; meters let all pass, and checksums are right, which
  `with_checksums` writes into the frame;
- a group has one replica, and ports are those of the tests;
- entries obey the program's rules, which p4testgen reads for BMv2 alone. A vector that still breaks one is
  left out.

A vector is for v1model's program. There queue_share is 0, too, which a test sets; `active` has a chip's 8
branches; a frame of the packet generator has no header of the generator in front, and a tick has the branch
from that header. Frames have 120 bytes: p4testgen wants each header that egress reads once more behind those
that ingress has read.
"""

import re
from pathlib import Path

from scapy.utils import checksum

from tests.vectors.form import CPU_PORT

CHIPS = {"tofino": 1, "tofino2": 2}
FRAME = 120
"""bytes of each frame"""
PORTS = "testgen_assume({0} <= 8 || {0} == CPU_PORT);"
"""that the tests have"""
CHIP = Path(__file__).with_name("chip.p4")
REPLACED = {
    r"\(bit<1>\)\w+_checksum\.verify\(\)": "0",
    r"punt_meter\.execute\(.*?\)": "0",
    r"packet\.advance\(PORT_METADATA_SIZE\);": rf"\g<0> {PORTS.format('intrinsic.ingress_port')}",
    r"for_tm\.ucast_egress_port = local\.stages\.egress_port;": (
        rf"{PORTS.format('local.stages.egress_port')} \g<0>"
    ),
    # Only a program with v1model knows a frame's length.
    r"packet\.extract\(hdr\.ipv4\);": rf"\g<0> testgen_assume(hdr.ipv4.total_length <= {FRAME - 20});",
    r"for_tm\.mcast_grp_a = local\.stages\.group;": r"testgen_assume(local.stages.group <= 8); \g<0>",
    # A chip has 8 branches.
    r"meta\.stream = \{ index,": r"testgen_assume(active <= 0xff); \g<0>",
    # p4testgen takes 0 |-| the least number for the least. Twice a negative rate, which none is, may be that.
    r"packet\.extract\(hdr\.feedback\);": r"\g<0> testgen_assume(hdr.feedback.r >= 0);",
    # Entries of a flow obey this beside the rules: link_t's limit, and the exponents of scaling.p4.
    r"hop\.link = \{ \{.*?\}, \{ (\w+), (\w+), (\w+) \}, limit \};": (
        r"testgen_assume(limit >= 0 && limit <= 127 && (\1 + 6 & 0x7f) <= 22 && (\2 + 6 & 0x7f) <= 22"
        r" && (\3 + 6 & 0x7f) <= 22); \g<0>"
    ),
    # The minimum without a condition, which would be two paths for p4testgen.
    r"#define minimum\(A, B\) .*?\n": "#define minimum(A, B) ((A) - ((A) |-| (B)))\n",
    # An assumption about a kind of packets holds in ingress's parser, and not for packets that ingress made.
    r"// The parsers and deparsers\.[^\n]*": "#define KIND(...) testgen_assume(__VA_ARGS__);",
    r"\n(\n#undef VERIFY_IPV4\n.*?#define VERIFY_FOREIGN\n)": r"\n#undef KIND\1#define KIND(...)",
    # Headers of the copy: `told` has what the traffic manager tells egress, and in front of a frame that
    # leaves the port that it leaves by. p4testgen gives an instance 1 bit: `filler` has the other 15.
    r"@pa_auto_init_metadata\nstruct local_t \{": (
        "header filler_t { bit<15> zero; } "
        "header told_t { bit<7> zero; port_id_t port; bit<16> instance; } "
        r"\g<0> filler_t filler; told_t told;"
    ),
    r"packet\.extract\(local\.stages\.bridged\);": (
        r"packet.extract(local.told); intrinsic.egress_rid = local.told.instance; \g<0>"
    ),
    r"packet\.emit\(local\.stages\.bridged\);": (
        r"packet.emit(local.filler); packet.emit(local.told); \g<0>"
    ),
    r"(control EgressDeparser\(.*?apply \{)": r"\1 packet.emit(local.told);",
    r"Pipeline\(IngressParser\(\), GroupflowIngress\(\), (.*?), GroupflowEgress\(\),": (
        '#line 1 "chip.p4"\n'
        + CHIP.read_text(encoding="utf-8")
        + r"Pipeline(IngressParser(), ChipIngress(), "
        r"\1, ChipEgress(),"
    ),
}
RESTRICTED = re.compile(
    r"@entry_restriction\(LEGAL\((.*?)\)\)\s*table \w+ \{\s*key = \{(.*?)\}\s*actions = \{(.*?)\}", re.DOTALL
)
KEY = re.compile(r"([\w.]+)\s*: exact [^;]*@name\(\"(\w+)\"\);")
REGISTER_ACTION = re.compile(r"(void apply\(inout [\w<>]+ (\w+)(?:, out [\w<>]+ result)?\) \{)([^{}]*)")
ADDED = re.compile(r"^chip\.p4|local\.told|local\.filler")
ZERO = re.compile(r"^(.*):(\d+): (\w+ = 0;)$")
"""what the copy has beside the program's own statements: these, and a 0 where the program's line has none"""

REASONS = {
    r"ack_registers\.p4.*(v0\d = 4294967295|raise_seq\.execute)": "not found in the time given",
    r"parsers\.p4.*loop_t": "the second pass is made within egress",
    r"ack_registers|acks\.p4.*= 24": "registers start at 0, and a vector is one frame",
    r"parser_failed|validation\.p4.*= 1;": f"no frame of {FRAME} bytes is too short for the parser",
    r"validation\.p4.*= 2;": "checksums are right",
    r"punting\.p4.*= 23;": "meters let all pass",
    r"groupflow_tna\.p4:.*(local\.loop\.egress_port|queue = 7)": "feedback passes twice on Tofino 2 alone",
    r"queue_registers\.p4:1\d|queue_registers\.p4:2\d": "p4testgen has no ghost thread",
}
"""why no vector covers a statement, by what it is like"""


def macros(target: str) -> list[str]:
    """The chip's number; one numbering of ports, that of the vectors; and v1model's sizes."""
    if target not in CHIPS:
        return []
    ports = [f"CPU_PORT={CPU_PORT}", "LOOP_PORT=68", f"GENERATOR_PORT={GENERATOR_PORT}"]
    return [f"__TARGET_TOFINO__={CHIPS[target]}", *ports, "MAX_STREAMS=4096", "MAX_BRANCHES=32768"]


def adapted(text: str) -> str:
    """A file of the program's copy."""
    for found, replacement in REPLACED.items():
        text = re.sub(found, replacement, text, flags=re.DOTALL)
    for rule, keys, actions in RESTRICTED.findall(text):
        meanings = {name: key for key, name in KEY.findall(keys)}
        assumed = re.sub(r"(?<![\w.])[a-z]\w*", lambda word, of=meanings: of[word[0]], rule)
        for action in re.findall(r"(?<!@defaultonly )\b(\w+);", actions):
            text = re.sub(rf"(action {action}\([^{{]*\{{)", rf"\1 testgen_assume({assumed});", text)
    return REGISTER_ACTION.sub(_from_zero, text)


def _from_zero(found: re.Match[str]) -> str:
    """A stateful action whose register holds 0, where the action reads it."""
    head, name, body = found.groups()
    only_writes = re.fullmatch(rf"\s*{name} = (?!.*\b{name}\b)[^;]*;\s*", body)
    return found[0] if only_writes else f"{head} {name} = 0;{body}"


def is_added(statement: str, program: Path) -> bool:
    """Whether a statement of the copy, `FILE:LINE: TEXT`, is not the program's own."""
    if zero := ZERO.match(statement):
        lines = (program.parent / zero[1]).read_text(encoding="utf-8").splitlines()
        return zero[3] not in lines[int(zero[2]) - 1]
    return bool(ADDED.search(statement))


GENERATOR_PORT = 0
"""the port of v1model's packet generator"""
GENERATOR_BYTES = 6
"""of the header that a chip's generator puts in front of a frame: the last two are the tick's branch"""
TICK = bytes.fromhex("88b6")


def arrives(port: int, data: bytes) -> bytes:
    """The frame at v1model's port, of what comes in by the copy's."""
    if port == GENERATOR_PORT:
        header, data = data[:GENERATOR_BYTES], data[GENERATOR_BYTES:]
        if data[12:14] == TICK:
            data = data[:16] + header[4:] + data[18:]
    return with_checksums(port, data)


def left(digits: str) -> tuple[int, str]:
    """The port and the frame, of what leaves the copy."""
    return int(digits[:4], 16), digits[8:]


def with_checksums(port: int, data: bytes) -> bytes:
    """A frame with right checksums of its IPv4 and group headers. The controller's begin with two bytes."""
    frame = bytearray(data)
    for begin, length, place in _headers(port, data):
        frame[begin + place : begin + place + 2] = bytes(2)
        right = checksum(bytes(frame[begin : begin + length]))
        frame[begin + place : begin + place + 2] = right.to_bytes(2, "big")
    return bytes(frame)


def expected(port: int, digits: str) -> str:
    """The same of a frame that leaves. Other digits that p4testgen does not know stay `*`."""
    frame = with_checksums(port, bytes.fromhex(digits.replace("*", "0"))).hex()
    known = {at for begin, _, place in _headers(port, bytes.fromhex(digits.replace("*", "0")))
             for at in range(2 * (begin + place), 2 * (begin + place) + 4)}  # fmt: skip
    return "".join(
        right if one != "*" or at in known else one
        for at, (one, right) in enumerate(zip(digits, frame, strict=True))
    )


def _headers(port: int, frame: bytes) -> list[tuple[int, int, int]]:
    """Of each header with a checksum: where it begins, its length, and where the checksum is in it."""
    ip = 16 if port == CPU_PORT else 14
    if frame[ip - 2 : ip] != b"\x08\x00":
        return []
    headers = [(ip, 20, 10)]
    is_first = int.from_bytes(frame[ip + 6 : ip + 8], "big") & 0x1FFF == 0
    if frame[ip] == 0x45 and frame[ip + 9] == 17 and is_first:
        headers.append((ip + 28, 24, 22))
    return headers
