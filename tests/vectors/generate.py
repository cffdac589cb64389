"""Makes vectors with p4testgen, which explores a program symbolically:

    python -m tests.vectors.generate p4src/groupflow_v1model.p4 tests/vectors/groupflow_v1model.txt \\
        --p4info p4src/build/groupflow.p4info.txtpb [--target bmv2 --arch v1model] [--seconds 60]
    python -m tests.vectors.generate p4src/groupflow_tna.p4 tests/vectors/groupflow_tna.txt \\
        --p4info p4src/build/groupflow.p4info.txtpb --target tofino --arch tna -D __TARGET_TOFINO__=1

p4testgen runs once for each kind of packet, since its search finds few packets that pass all checks. The kind
and the restrictions of actions are assumptions in a copy of the program; p4testgen itself knows the
restrictions of tables. Of each run those vectors are kept that cover more statements than those before. The
file's head tells how many statements all vectors cover, and which they do not.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from finsy.proto import p4i
from google.protobuf import text_format

from groupflow.switch import WriteError
from tests.support.p4.network import new_switch
from tests.vectors import tofino
from tests.vectors.form import ANY, CPU_PORT, Out, Vector

# p4testgen quotes the names of v1model's, and not those of Tofino's.
ADD = re.compile(
    r'add "?(?P<table>[^" ]+)"? (?:(?P<priority>\d+) )?(?P<keys>.*?)"?(?P<action>[^" :(]+)"?\((?P<args>.*)\)'
)
KEY = re.compile(r'"?([\w.]+)"?:(\S+)')
ARGUMENT = re.compile(r'"?(\w+)"?:([^,]+)')
COVERED = re.compile(r"Nodes covered: \S+ \((\d+)/(\d+)\)")
MISSED = re.compile(r"^\t(\S+)\\(\d+): (.*)$", re.MULTILINE)
INTERNAL = re.compile(r"\b\w+/")
"""the compiler's own name before a program's"""
RESTRICTED = re.compile(r"@action_restriction\(LEGAL\((.*?)\)\)(\s*action [^{]*\{)", re.DOTALL)
LAZY = {
    r"(hdr\.group\.isValid\(\) && )(hdr\.group\.type != \w+ && hdr\.group\.type != \w+)": r"\1(\2)",
    r"(hdr\.foreign\.isValid\(\) && )(meta\.foreign_failed == 0 && hdr\.foreign\.session\S+ == 0)": r"\1(\2)",
}
"""conditions whose second part p4testgen reads where the first is false, and the same so that it does not"""
EGRESS = re.compile(r"(control GroupflowEgress\(.*?apply \{)", re.DOTALL)
DROPPED = "if (standard_metadata.egress_spec == 511) { exit; }"
"""p4testgen lets a dropped packet pass egress, which no switch does"""
PORTS = "(standard_metadata.{0} <= 8 || standard_metadata.{0} == 510)"
"""that the tests have; p4testgen's own option for them ends a run too early"""

REPLICATED = "standard_metadata.mcast_grp = meta.group;"
ONE_REPLICA = (
    "testgen_assume(meta.group <= 8);"
    " standard_metadata.egress_spec = (bit<9>)meta.group; standard_metadata.egress_rid = meta.group;"
)
"""p4testgen drops what is replicated: a group has one replica, which `form.GROUPS` has, too"""
TIMES = re.compile(r"^((?:..[08]3)?.{24}88b5.{4}.{3}[2367abef]).{16}")
"""the two times in a probe that leaves, or goes to the controller: p4testgen's clock stands still"""

ONE_FRAME = "registers start at 0, and a vector is one frame"
REASONS = {
    "stages/guard.p4: meta.drop_reason = 22;": "p4testgen finds a checksum of 0 by chance only",
    "stages/punting.p4: meta.drop_reason = 23;": "p4testgen's meters are green",
    "stages/validation.p4: meta.drop_reason = 1;": "no frame of 120 bytes is too short for the parser",
    "targets/v1model/ack_registers.p4: last = b;": ONE_FRAME,
    "targets/v1model/queue_registers.p4: depth = other_n;": ONE_FRAME,
    "targets/v1model/queue_registers.p4: rate = other_r;": ONE_FRAME,
}
"""why no vector covers a statement, by its file and text"""

Kind = Mapping[str, str]
"""by a state of the parser, what is assumed of the headers that it has extracted"""


def ipv4(more: str, **states: str) -> Kind:
    """Whole IPv4 packets."""
    whole = "hdr.ipv4.version == 4 && hdr.ipv4.ihl == 5 && hdr.ipv4.ttl > 1 && hdr.ipv4.total_length >= 20"
    ethernet = "hdr.ethernet.ethertype == 0x800"
    return {
        "parse_ethernet": ethernet,
        "parse_ipv4": f"{whole} && hdr.ipv4.total_length <= 106 && {more}",
        **states,
    }


def group(more: str, *, to: str = "== 239") -> Kind:
    """Whole packets of a session; `to`: the destination's first byte."""
    udp = "hdr.ipv4.protocol == 17 && hdr.ipv4.flags == 0 && hdr.ipv4.fragment_offset == 0"
    lengths = "hdr.ipv4.total_length == hdr.udp.length + 20 && hdr.udp.length == hdr.group.length + 32"
    session = "hdr.group.version == 1 && hdr.ipv4.dst[23:0] == hdr.group.session[23:0]"
    ends = f"{lengths} && {session} && {more}"
    return {
        **ipv4(f"{udp} && hdr.ipv4.dst[31:24] {to}"),
        "parse_udp": "hdr.udp.dst_port == 26470",
        "parse_group": ends,
    }


def ethernet(ethertype: str, **states: str) -> Kind:
    return {"parse_ethernet": f"hdr.ethernet.ethertype == {ethertype}", **states}


KINDS: dict[str, Kind] = {
    "any": {},
    "ipv4": ethernet("0x0800"),
    "ttl": ethernet("0x0800", parse_ipv4="hdr.ipv4.version == 4 && hdr.ipv4.ihl == 5 && hdr.ipv4.ttl == 1"),
    "options": ethernet("0x0800", parse_ipv4="hdr.ipv4.version == 4 && hdr.ipv4.ihl == 7"),
    **{f"group{kind}": group(f"hdr.group.type == {kind}") for kind in (1, 2, 3, 4, 5, 6, 8, 9, 10, 13)},
    "behind": group("hdr.group.type == 3 && hdr.group.seq > 0x7fffffff"),
    "beyond": group("hdr.group.type == 3 && hdr.group.seq > 1 && hdr.group.seq < 0x7fffffff"),
    "request": group("hdr.group.type == 4 && standard_metadata.ingress_port == 3"),
    "group-fragment": ipv4("hdr.ipv4.protocol == 17 && hdr.ipv4.flags == 1 && hdr.ipv4.fragment_offset == 0",
                           parse_udp="hdr.udp.dst_port == 26470"),
    "reset": {**group("hdr.group.type == 10"), "parse_packet_out": "hdr.packet_out.inject == 1"},
    "word": group("(hdr.group.type == 2 || hdr.group.type == 5)", to="!= 239"),
    "tcp": ipv4("hdr.ipv4.protocol == 6 && hdr.ipv4.flags == 0 && hdr.ipv4.fragment_offset == 0"),
    "tcp-fragment": ipv4("hdr.ipv4.protocol == 6 && hdr.ipv4.flags == 1 && hdr.ipv4.fragment_offset == 0"),
    "from-agent": {**group("hdr.group.type == 2", to="!= 239"),
                   "parse_udp": "hdr.udp.src_port == 26470 && hdr.udp.dst_port != 26470"},
    "udp": ipv4("hdr.ipv4.protocol == 17 && hdr.ipv4.flags == 0 && hdr.ipv4.fragment_offset == 0",
                parse_udp="hdr.udp.dst_port != 26470 && hdr.udp.src_port != 26470"),
    "icmp": ipv4("hdr.ipv4.protocol == 1"),
    "fragment": ipv4("hdr.ipv4.protocol == 17 && (hdr.ipv4.flags ++ hdr.ipv4.fragment_offset) != 0"),
    "arp": ethernet("0x0806", parse_arp="hdr.arp.hardware_type == 1 && hdr.arp.protocol_type == 0x800"),
    "foreign": ipv4("hdr.ipv4.protocol == 17 && hdr.ipv4.flags == 0 && hdr.ipv4.fragment_offset == 0",
                    parse_udp="hdr.udp.dst_port != 26470 && hdr.udp.src_port != 26470 && hdr.udp.length > 31",
                    parse_foreign="hdr.foreign.session[31:24] == 0"),
    "feedback": ethernet("0x88b5"),
    "probe": ethernet("0x88b5", parse_probe="hdr.probe.number > 0"),
    "tick": ethernet("0x88b6", parse_tick="hdr.tick.flow < 4096"),
    "tick-unknown": ethernet("0x88b6", parse_tick="hdr.tick.flow >= 4096"),
    "tick-host": ethernet("0x88b6 && standard_metadata.ingress_port == 3"),
    "packet-out": {"parse_packet_out": "hdr.packet_out.inject == 0"},
}  # fmt: skip


@dataclass(frozen=True)
class Names:
    """By the full names of tables and actions, P4Info's aliases; by a table's alias, how its keys match."""

    aliases: Mapping[str, str]
    keys: Mapping[str, Mapping[str, int]]

    def alias(self, name: str) -> str:
        """Of a name in another top, where the stages stand in other controls: its last part."""
        return self.aliases.get(name, name.rpartition(".")[2])


def names_of(info: p4i.P4Info) -> Names:
    aliases = {each.preamble.name: each.preamble.alias for each in (*info.tables, *info.actions)}
    keys = {
        each.preamble.alias: {key.name: key.match_type for key in each.match_fields} for each in info.tables
    }
    return Names(aliases, keys)


def assuming(program: Path, folder: Path, kind: Kind, arch: str = "v1model") -> Path:
    """A copy of the program, and of what stands beside it, with its assumptions."""
    is_v1model = arch == "v1model"
    copy = Path(shutil.copytree(program.parent, folder / "program"))
    for file in copy.rglob("*.p4"):
        text = file.read_text(encoding="utf-8")
        text = RESTRICTED.sub(r"\2 testgen_assume(\1);", text)
        for condition, same in LAZY.items():
            text = re.sub(condition, same, text)
        text = text.replace(REPLICATED, ONE_REPLICA)
        states = {"parse_ethernet": "true", **kind}
        if not is_v1model:
            text = tofino.adapted(text)
        else:
            states["parse_ethernet"] += f" && {PORTS.format('ingress_port')}"
        for state, assumed in states.items():
            extract = rf"(state {state} \{{\s*packet\.extract\([^;]*;)"
            text = re.sub(extract, rf"\1 testgen_assume({assumed});", text)
        file.write_text(text)
    top = copy / program.name
    text = top.read_text(encoding="utf-8")
    if is_v1model:
        text = EGRESS.sub(rf"\1 {DROPPED} testgen_assume({PORTS.format('egress_port')});", text)
    top.write_text(f"#include <testgen.p4>\n{text}")
    return top


def run(arguments: argparse.Namespace, folder: Path, kind: Kind) -> str:
    """What p4testgen says; its tests are in the folder."""
    program = shutil.which("p4testgen")
    if program is None:
        sys.exit("p4testgen is not on PATH; it is a part of p4lang/p4c")
    command = [
        program, "--target", arguments.target, "--arch", arguments.arch, "--test-backend", "STF",
        "--out-dir", str(folder), "--seed", "1", "--max-tests", "0",
        "--stop-metric", "MAX_NODE_COVERAGE", "--track-coverage", "STATEMENTS", "--only-covering-tests",
        "--path-selection", "GREEDY_STATEMENT_SEARCH", "--packet-size-range", "960:1600",
        "--print-coverage", *(f"-D{macro}" for macro in arguments.D),
        str(assuming(arguments.program, folder, kind, arguments.arch)),
    ]  # fmt: skip
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        try:
            process.wait(arguments.seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return log.read_text(encoding="utf-8", errors="replace")


def converted(text: str, name: str, names: Names) -> Vector:
    """A test of p4testgen, in the form of STF."""
    inserts = [_insert(line, names) for line in text.splitlines() if line.startswith("add ")]
    ((port, data),) = re.findall(r"^packet (\d+) (\w+)", text, re.MULTILINE)
    out = re.findall(r"^expect (\d+) ([\w*]+)", text, re.MULTILINE)
    sent = tuple(Out(neutral(int(to)), TIMES.sub(rf"\1{'*' * 16}", digits.lower())) for to, digits in out)
    return Vector(name, tuple(inserts), neutral(int(port)), bytes.fromhex(data), sent)


def of_tofino(text: str, name: str, names: Names) -> Vector | None:
    """The vector of a test of Tofino's ingress; None if it is left out."""
    vector = converted(text.replace(f"port:0x{tofino.CPU:03X}", f"port:{CPU_PORT:#x}"), name, names)
    try:
        new_switch().write([+entry for entry in vector.entries()])
    except WriteError:
        return None
    if tofino.LOOP_PORT in (one.port for one in vector.out):
        return None
    frame = tofino.with_checksums(vector.port, vector.data)
    return replace(vector, data=frame, out=tuple(Out(one.port, ANY) for one in vector.out))


def neutral(port: int) -> int:
    """The port in the vectors: that of the controller has one number for all targets."""
    return CPU_PORT if port == tofino.CPU else port


def _insert(line: str, names: Names) -> str:
    found = ADD.match(line)
    assert found, line
    table, action = names.alias(found["table"]), names.alias(found["action"])
    kinds = names.keys[table]
    keys = [
        f"{name}={_value(value, kinds[name])}"
        for name, value in KEY.findall(found["keys"])
        if set(value) != set("0b*")
    ]
    if p4i.MatchField.TERNARY in kinds.values():
        keys.append(f"priority={max(int(found['priority']), 1)}")
    arguments = [f"{name}={value}" for name, value in ARGUMENT.findall(found["args"])]
    return " ".join((table, *keys, "=>", action, *arguments))


def _value(text: str, kind: int) -> str:
    """A number, or of binary digits with `*` the value and its mask or its prefix's length."""
    if not text.startswith("0b"):
        return hex(int(text, 0))
    digits = text.removeprefix("0b")
    value, mask = int(digits.replace("*", "0"), 2), int(re.sub("[01]", "1", digits).replace("*", "0"), 2)
    return f"{value:#x}/{mask.bit_count()}" if kind == p4i.MatchField.LPM else f"{value:#x}&{mask:#x}"


def missed(log: str) -> Counter[str]:
    """The statements that a run does not cover, each with its place; but not the assumptions."""
    last = log.rpartition("Not covered program nodes:")[2]
    found = (
        f"{file.partition('/program/')[2] or file}:{line}: {INTERNAL.sub('', text)}"
        for file, line, text in MISSED.findall(last)
        if "testgen_assume" not in text
    )
    return Counter(found)


def reason(statement: str) -> str:
    likes = (why for like, why in tofino.REASONS.items() if re.search(like, statement))
    return REASONS.get(re.sub(r":\d+", "", statement)) or next(likes, "not found in the time given")


@dataclass(frozen=True)
class Found:
    """Of one kind of packets."""

    vectors: list[Vector]
    statements: int
    missed: Counter[str]


def found(kind: str, arguments: argparse.Namespace, names: Names) -> Found:
    with TemporaryDirectory() as folder:
        log = run(arguments, Path(folder), KINDS[kind])
        files = sorted(Path(folder).glob("*.stf"), key=lambda file: int(file.stem.rpartition("_")[2]))
        tests = [file.read_text() for file in files]
        sources = (file.read_text() for file in Path(folder, "program").rglob("*.p4"))
        added = sum(text.count("testgen_assume(") + text.count(DROPPED) for text in sources)
    convert = converted if arguments.arch == "v1model" else of_tofino
    made = (convert(text, f"{kind}-{number}", names) for number, text in enumerate(tests, 1))
    vectors = [vector for vector in made if vector]
    print(f"{kind}: {len(vectors)} vectors", file=sys.stderr)
    covered = COVERED.findall(log)
    return Found(vectors, int(covered[-1][1]) - added if covered else 0, missed(log))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--p4info", type=Path, required=True)
    parser.add_argument("--target", default="bmv2")
    parser.add_argument("--arch", default="v1model")
    parser.add_argument("--seconds", type=int, default=60, help="after which a run of p4testgen is ended")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="of packets")
    parser.add_argument("--jobs", type=int, default=2, help="runs at one time")
    parser.add_argument("-D", action="append", default=[], metavar="MACRO")
    arguments = parser.parse_args()
    names = names_of(text_format.Parse(arguments.p4info.read_text(), p4i.P4Info()))
    with ThreadPoolExecutor(arguments.jobs) as pool:
        foreign = "standard_metadata" if arguments.arch != "v1model" else "intrinsic"
        kinds = [kind for kind in arguments.kinds if foreign not in str(KINDS[kind])]
        runs = list(pool.map(partial(found, arguments=arguments, names=names), kinds))
    open_ = runs[0].missed
    for each in runs:
        if each.vectors:
            open_ &= each.missed
    vectors = [vector.text() for each in runs for vector in each.vectors]
    total = max(each.statements for each in runs)
    covered = total - open_.total()
    part = "statements" if arguments.arch == "v1model" else "statements of ingress"
    lines = [
        f"# Made by tests/vectors/generate.py from {arguments.program}; form.py says how to read it.",
        f"# {len(vectors)} vectors cover {covered} of {total} {part} ({covered / total:.1%}), not these:",
        *(f"#   {statement} ({reason(statement)})" for statement in sorted(open_.elements())),
    ]
    arguments.out.write_text("\n".join((*lines, "", *vectors)), encoding="utf-8")
    print(lines[1], file=sys.stderr)


if __name__ == "__main__":
    main()
