"""Random P4 programs through p4c and groupflow's compiler: the same packets must come out of both.

    python -m tests.conformance.random_programs [--first N] [--programs N] [--out DIR] [--bmv2]

writes programs full of effects on one another's operands, compiles each with both compilers, and sends the
same random frames through both on gfswitch; with `--bmv2` through groupflow's output on gfswitch and on
BMv2, which needs root. A program whose packets differ is shortened line by line, and kept in the folder.
Every value that a program reads was written before, and every index is within its stack: the specification
decides what each program does. Programs have no loops, of which p4c's output for BMv2 runs one round, no
`exit` in an action with results, no effects on the left side of a compound assignment, which p4c reads last,
and no generic functions, which p4c loses. Programs for which p4c ends or takes a minute are counted.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

from finsy.proto import p4i
from google.protobuf import text_format

from groupflow.compiler import CompileError, compile_p4
from groupflow.switch import Switch
from tests.conformance.corpus import PORTS, Program, Target
from tests.conformance.random_writer import Writer
from tests.support.wires import wires

FRAMES = 8
ENDS = "p4c makes nothing"
"""the outcome where p4c ends with a bug of its own, as for every fourth program, or takes too long"""
REFUSED = "both refuse"
LATE = 1.0
QUIET = 0.02
"""seconds: until BMv2 has sent a frame, and without a further one behind the last"""

Outputs: TypeAlias = list[list[tuple[int, str]]]
"""ports and frames that leave for each frame that arrives"""
Paths: TypeAlias = tuple[Path, Path]
Reference: TypeAlias = Callable[[Path, Paths, list[bytes], Outputs], Outputs | str]
"""gives the outputs for a source, groupflow's JSON and P4Info, frames, and gfswitch's outputs; or why not"""


def frames(seed: int) -> list[bytes]:
    chance = random.Random(seed)
    small = [bytes(chance.choice((0, 1, 2, 3, 255)) for _ in range(100)) for _ in range(FRAMES // 2)]
    return small + [chance.randbytes(100) for _ in range(FRAMES // 2)]


def outputs(paths: Paths, arriving: list[bytes]) -> Outputs:
    switch = Switch.load(*paths, ports=range(1, 4))
    return [sorted((port, out.hex()) for port, _, out in switch.run(1, frame)) for frame in arriving]


def p4c(source: Path, ours: Paths, arriving: list[bytes], _: Outputs) -> Outputs | str:
    """The packets that p4c's output makes on gfswitch."""
    json, info = ours[0].with_name("p4c.json"), ours[0].with_name("p4c.txtpb")
    command = [
        "p4c-bm2-ss",
        "--std",
        "p4-16",
        "--Wdisable",
        "-o",
        str(json),
        "--p4runtime-files",
        str(info),
        str(source),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return ENDS
    if done.returncode:
        return (
            ENDS
            if "Compiler Bug" in done.stderr
            else f"p4c refuses: {done.stderr[done.stderr.find('error') :][:300]}"
        )
    try:
        return outputs((json, info), arriving)
    except ValueError:
        return ENDS


def bmv2(target: Target, _: Path, ours: Paths, arriving: list[bytes], expected: Outputs) -> Outputs | str:
    """The packets that groupflow's output makes on BMv2."""
    info = text_format.Parse(ours[1].read_text(), p4i.P4Info())
    if reason := target.load(Program("random", ours[0].read_bytes(), info)):
        return f"BMv2 does not load it: {reason}"
    left: Outputs = []
    for number, frame in enumerate(arriving):
        target.wires.send(1, frame)
        quiet = QUIET if number == len(arriving) - 1 else 0.0
        left.append(received(target, len(expected[number]), quiet))
        if left[-1] != expected[number] and not target.alive(2.0):
            return "the output ends BMv2"
    return left


def received(target: Target, number: int, quiet: float) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    end = time.monotonic() + (LATE if number else QUIET)
    while time.monotonic() < end:
        before = len(found)
        found += [(port, frame.hex()) for port in PORTS for frame in target.wires.received(port)]
        if number and before < number <= len(found):
            end = time.monotonic() + quiet
        time.sleep(0.001)
    return sorted(found)


def difference(text: str, folder: Path, seed: int, reference: Reference = p4c) -> str:
    """The first difference of groupflow's program from the reference; empty where they agree."""
    source = folder / "random.p4"
    source.write_text(text)
    arriving = frames(seed)
    try:
        ours = compile_p4(source).write(folder, "ours")
    except CompileError as error:
        known = reference is not p4c or isinstance(p4c(source, (source, source), arriving, []), str)
        return REFUSED if known else f"groupflow refuses: {str(error)[:300]}"
    try:
        left = outputs(ours, arriving)
    except ValueError as error:
        return f"the output of groupflow does not load: {error}"
    others = reference(source, ours, arriving, left)
    if isinstance(others, str):
        return others
    for frame, mine, other in zip(arriving, left, others, strict=True):
        if mine != other:
            return f"frame {frame.hex()}:\n  reference {other}\n  groupflow {mine}"
    return ""


def differs(lines: list[str], folder: Path, seed: int, reference: Reference = p4c) -> bool:
    """Whether both take a program, and its packets differ."""
    text = "\n".join(lines) + "\n"
    if text.count("{") != text.count("}"):
        return False
    try:
        compile_p4(text)
    except CompileError:
        return False
    return difference(text, folder, seed, reference).startswith("frame")


def shortened(text: str, folder: Path, seed: int, reference: Reference = p4c) -> str:
    """The program without each line that the difference does not need."""
    lines = text.splitlines()
    while True:
        known = len(lines)
        begin = 0
        while begin < len(lines):
            fewer = next(
                (one for one in without(lines, begin) if differs(one, folder, seed, reference)), None
            )
            begin += fewer is None
            lines = fewer or lines
        if len(lines) == known:
            return "\n".join(lines) + "\n"


def without(lines: list[str], begin: int) -> Iterator[list[str]]:
    """The lines without the block that begins here, then without its head and end, or without one line."""
    depth = 0
    for end in range(begin, len(lines)):
        depth += lines[end].count("{") - lines[end].count("}")
        if depth <= 0:
            break
    else:
        return
    yield lines[:begin] + lines[end + 1 :]
    if end > begin:
        yield lines[:begin] + lines[begin + 1 : end] + lines[end + 1 :]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("out/random"), help="where programs that differ go")
    parser.add_argument("--bmv2", action="store_true", help="compare with BMv2 instead of p4c; needs root")
    options = parser.parse_args()
    program = "simple_switch_grpc" if options.bmv2 else "p4c-bm2-ss"
    if not shutil.which(program):
        parser.error(f"{program} is not on PATH")
    options.out.mkdir(parents=True, exist_ok=True)
    seeds = range(options.first, options.first + options.programs)
    if not options.bmv2:
        return compare(seeds, options.out, p4c)
    with wires(PORTS) as made:
        target = Target("bmv2", made)
        try:
            return compare(seeds, options.out, partial(bmv2, target))
        finally:
            target.stop()


def compare(seeds: range, out: Path, reference: Reference) -> int:
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as made:
        for seed in seeds:
            text = Writer(seed).program()
            found = difference(text, Path(made), seed, reference)
            outcomes[found if found in ("", ENDS, REFUSED) else "differ"] += 1
            if found not in ("", ENDS, REFUSED):
                print(f"{seed}: {found[:400]}", flush=True)
                packets = found.startswith("frame")
                text = shortened(text, Path(made), seed, reference) if packets else text
                (out / f"{seed}.p4").write_text(text)
    told = ", ".join(f"{count} {outcome or 'agree'}" for outcome, count in outcomes.items())
    print(f"{len(seeds)} programs: {told}")
    return 1 if outcomes["differ"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
