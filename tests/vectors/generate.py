"""Makes vectors with p4testgen, which explores a program symbolically:

    python -m tests.vectors.generate p4src/groupflow_v1model.p4 tests/vectors/groupflow_v1model.txt
    python -m tests.vectors.generate p4src/groupflow_tna.p4 tests/vectors/groupflow_tofino.txt \\
        --target tofino --arch tna --seconds 32
    python -m tests.vectors.generate p4src/groupflow_tna.p4 tests/vectors/groupflow_tofino2.txt \\
        --target tofino2 --arch t2na --seconds 32

p4testgen runs once for each kind of packet, since its search finds few packets that pass all checks. The kind
and the restrictions of actions are assumptions in a copy of the program; p4testgen itself knows the
restrictions of tables for BMv2, and `tofino` adds them for Tofino. Of each run those vectors are kept that
cover more statements than those before. The file's head tells how many statements all vectors cover, and
which they do not.
"""

from __future__ import annotations

import argparse
import re
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from finsy.proto import p4i
from google.protobuf import text_format

from groupflow.switch import WriteError
from tests.support.p4.network import P4INFO, new_switch
from tests.vectors import tofino
from tests.vectors.form import Out, Vector
from tests.vectors.kinds import KINDS, OF, Kind

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
TIMES = re.compile(r"^((?:..[08][34])?.{24}88b5.{4}.{3}[2367abef]).{16}")
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
        if is_v1model:
            states["parse_ethernet"] += f" && {PORTS.format('ingress_port')}"
        else:
            text = tofino.adapted(text)
        file.write_text(_assumed(text, states, is_v1model=is_v1model))
    top = copy / program.name
    text = top.read_text(encoding="utf-8")
    if is_v1model:
        text = EGRESS.sub(rf"\1 {DROPPED} testgen_assume({PORTS.format('egress_port')});", text)
    top.write_text(text.replace("//", "#include <testgen.p4> //", 1))
    return top


def _assumed(text: str, kind: Kind, *, is_v1model: bool) -> str:
    """A file with what is assumed of a kind of packets."""
    for place, assumed in kind.items():
        if place.startswith("action "):
            place, call = rf"({place}\([^{{]*\{{)", f"testgen_assume({assumed});"
        elif is_v1model:
            place, call = rf"(state {place} \{{\s*packet\.extract\([^;]*;)", f"testgen_assume({assumed});"
        else:
            place = rf"(state {place} \{{\s*packet\.extract\([^;]*;)"
            call = f"KIND({assumed.replace('standard_metadata', 'intrinsic')})"
        text = re.sub(place, rf"\1 {call}", text)
    return text


def run(arguments: argparse.Namespace, folder: Path, program: Path, *options: str) -> str:
    """What p4testgen says of a program; its tests are in the folder."""
    testgen = shutil.which("p4testgen")
    if testgen is None:
        sys.exit("p4testgen is not on PATH; it is a part of p4lang/p4c")
    command = [
        testgen, "--target", arguments.target, "--arch", arguments.arch, "--test-backend", "STF",
        "--out-dir", str(folder), "--seed", "1",
        "--stop-metric", "MAX_NODE_COVERAGE", "--track-coverage", "STATEMENTS", "--only-covering-tests",
        "--path-selection", "GREEDY_STATEMENT_SEARCH", "--print-coverage",
        *(f"-D{macro}" for macro in arguments.D), *options, str(program),
    ]  # fmt: skip
    log = folder / "log"
    limit = partial(resource.setrlimit, resource.RLIMIT_CPU, (arguments.seconds, arguments.seconds))
    with log.open("w") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, preexec_fn=limit, check=False)
    tests = in_order(folder)
    if done.returncode < 0 and tests:
        tests[-1].write_text("")  # it may be half written
    return log.read_text(encoding="utf-8", errors="replace")


def in_order(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.stf"), key=lambda file: int(file.stem.rpartition("_")[2]))


def converted(text: str, name: str, names: Names) -> Vector:
    """A test of p4testgen, in the form of STF."""
    inserts = [_insert(line, names) for line in text.splitlines() if line.startswith("add ")]
    ((port, data),) = re.findall(r"^packet (\d+) (\w+)", text, re.MULTILINE)
    out = re.findall(r"^expect (\d+) ([\w*]+)", text, re.MULTILINE)
    sent = tuple(Out(int(to), TIMES.sub(rf"\1{'*' * 16}", digits.lower())) for to, digits in out)
    return Vector(name, tuple(inserts), int(port), bytes.fromhex(data), sent)


def of_tofino(text: str, name: str, names: Names) -> Vector | None:
    """The vector of a test of Tofino's top; None if it is left out."""
    vector = converted(text, name, names)
    try:
        new_switch().write([+entry for entry in vector.entries()])
    except WriteError:
        return None
    left = (tofino.left(one.digits) for one in vector.out)
    sent = tuple(Out(port, TIMES.sub(rf"\1{'*' * 16}", tofino.expected(port, frame))) for port, frame in left)
    return replace(vector, data=tofino.arrives(vector.port, vector.data), out=sent)


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


def missed(report: str, program: Path) -> Counter[str]:
    """The program's statements that p4testgen reports as not covered, each with its place."""
    found = (
        f"{file.partition('/program/')[2] or file}:{line}: {INTERNAL.sub('', text)}"
        for file, line, text in MISSED.findall(report)
        if "testgen_assume" not in text
    )
    return Counter(one for one in found if not tofino.is_added(one, program))


def reason(statement: str) -> str:
    likes = (why for like, why in tofino.REASONS.items() if re.search(like, statement))
    return REASONS.get(re.sub(r":\d+", "", statement)) or next(likes, "not found in the time given")


@dataclass(frozen=True)
class Found:
    """Of one kind of packets."""

    vectors: list[Vector]
    missed: Counter[str]


def found(kind: tuple[str, Kind], arguments: argparse.Namespace, names: Names) -> Found:
    """The vectors of a kind, and what they do not cover: also what only those cover that are left out."""
    name, assumed = kind
    is_v1model = arguments.arch == "v1model"
    with TemporaryDirectory() as folder:
        program = assuming(arguments.program, Path(folder), assumed, arguments.arch)
        bits = "960:1600" if is_v1model else f"{tofino.FRAME * 8}:{tofino.FRAME * 8}"
        log = run(arguments, Path(folder), program, "--max-tests", "0", "--packet-size-range", bits)
        tests = [file.read_text() for file in in_order(Path(folder))]
    convert = converted if is_v1model else of_tofino
    vectors = [
        convert(text, f"{name}-{number}", names) if text else None for number, text in enumerate(tests, 1)
    ]
    reports = [missed(part, arguments.program) for part in log.split("Not covered program nodes:")[1:]]
    open_ = reports[-1] if reports else Counter[str]()
    for vector, before, after in zip(vectors[1:], reports, reports[1:], strict=False):
        if vector is None:
            open_ += before - after
    kept = [vector for vector in vectors if vector]
    print(f"{name}: {len(kept)} of {len(vectors)} vectors", file=sys.stderr)
    return Found(kept if vectors and vectors[0] else [], open_)


def digest(program: Path) -> str:
    """Of the code that a vector of this top may depend on: without comments and spaces."""
    target = "v1model" if "v1model" in program.name else "tna"
    folders = (program.parent / "stages", program.parent / "targets" / target)
    files = [program, *(file for folder in folders for file in sorted(folder.glob("*.p4"))), tofino.CHIP]
    text = "".join(re.sub(r"//[^\n]*|\s+", "", file.read_text(encoding="utf-8")) for file in files)
    return sha256(text.encode()).hexdigest()[:16]


def statements(arguments: argparse.Namespace) -> int:
    """How many statements the program has."""
    with TemporaryDirectory() as folder:
        log = run(arguments, Path(folder), arguments.program, "--max-tests", "1")
    return int(COVERED.findall(log)[-1][1])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--p4info", type=Path, default=P4INFO)
    parser.add_argument("--target", default="bmv2")
    parser.add_argument("--arch", default="v1model")
    parser.add_argument(
        "--seconds", type=int, default=60, help="of the processor, after which p4testgen is ended"
    )
    parser.add_argument("--kinds", nargs="+", help="of packets")
    parser.add_argument("--jobs", type=int, default=2, help="runs at one time")
    parser.add_argument("-D", action="append", default=[], metavar="MACRO")
    arguments = parser.parse_args()
    names = names_of(text_format.Parse(arguments.p4info.read_text(), p4i.P4Info()))
    arguments.D += tofino.macros(arguments.target)
    kinds = OF.get(arguments.target, KINDS)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        chosen = [(name, kinds[name]) for name in arguments.kinds or kinds]
        runs = list(pool.map(partial(found, arguments=arguments, names=names), chosen))
    runs = [each for each in runs if each.vectors]
    open_ = runs[0].missed
    for each in runs:
        open_ &= each.missed
    vectors = [vector.text() for each in runs for vector in each.vectors]
    total = statements(arguments)
    covered = total - open_.total()
    lines = [
        f"# Made by tests/vectors/generate.py from {arguments.program}; form.py says how to read it.",
        f"# Of sources {digest(arguments.program)}; --target {arguments.target}",
        f"# {len(vectors)} vectors cover {covered} of {total} statements ({covered / total:.1%}), not these:",
        *(f"#   {statement} ({reason(statement)})" for statement in sorted(open_.elements())),
    ]
    arguments.out.write_text("\n".join((*lines, "", *vectors)), encoding="utf-8")
    print(lines[2], file=sys.stderr)


if __name__ == "__main__":
    main()
