"""Random P4 programs through p4c and groupflow's compiler: the same packets must come out of both.

    python -m tests.conformance.random_programs [--first N] [--programs N] [--out DIR]

writes programs full of effects on one another's operands, compiles each with both compilers, and sends the
same random frames through both on gfswitch. A program whose packets differ is shortened line by line, and
kept in the folder. Every value that a program reads was written before, and every index is within its stack:
the specification decides what each program does. Programs have no loops, of which p4c's output for BMv2 runs
one round, and no `exit` in an action with results. Programs for which p4c ends or takes a minute are counted.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from groupflow.compiler import CompileError, compile_p4
from groupflow.switch import Switch
from tests.conformance.random_writer import Writer

FRAMES = 8
ENDS = "p4c makes nothing"
"""the outcome where p4c ends with a bug of its own, as for every fourth program, or takes too long"""
REFUSED = "both refuse"


def frames(seed: int) -> list[bytes]:
    chance = random.Random(seed)
    small = [bytes(chance.choice((0, 1, 2, 3, 255)) for _ in range(80)) for _ in range(FRAMES // 2)]
    return small + [chance.randbytes(80) for _ in range(FRAMES // 2)]


def compiled_by_p4c(source: Path, folder: Path) -> tuple[Path, Path] | str:
    json, info = folder / "p4c.json", folder / "p4c.txtpb"
    command = ["p4c-bm2-ss", "--std", "p4-16", "-o", str(json), "--p4runtime-files", str(info), str(source)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "Compiler Bug: a minute is over"
    return (json, info) if done.returncode == 0 else done.stderr


def difference(text: str, folder: Path, seed: int) -> str:
    """The first difference of the two compilers' programs; empty where they agree."""
    source = folder / "random.p4"
    source.write_text(text)
    try:
        ours = compile_p4(source).write(folder, "ours")
    except CompileError as error:
        theirs = compiled_by_p4c(source, folder)
        return REFUSED if isinstance(theirs, str) else f"groupflow refuses: {str(error)[:300]}"
    theirs = compiled_by_p4c(source, folder)
    if isinstance(theirs, str):
        return ENDS if "Compiler Bug" in theirs else f"p4c refuses: {theirs[:300]}"
    switches: list[Switch] = []
    for name, paths in (("p4c", theirs), ("groupflow", ours)):
        try:
            switches.append(Switch.load(*paths, ports=range(1, 4)))
        except ValueError as error:
            return f"the output of {name} does not load: {error}"
    for frame in frames(seed):
        outs = [[(port, out.hex()) for port, _, out in switch.run(1, frame)] for switch in switches]
        if outs[0] != outs[1]:
            return f"frame {frame.hex()}:\n  p4c       {outs[0]}\n  groupflow {outs[1]}"
    return ""


def differs(lines: list[str], folder: Path, seed: int) -> bool:
    """Whether both compilers take a program, and its packets differ."""
    text = "\n".join(lines) + "\n"
    if text.count("{") != text.count("}"):
        return False
    try:
        compile_p4(text)
    except CompileError:
        return False
    return difference(text, folder, seed).startswith(("frame", "the output"))


def shortened(text: str, folder: Path, seed: int) -> str:
    """The program without each line that the difference does not need."""
    lines = text.splitlines()
    while True:
        known = len(lines)
        begin = 0
        while begin < len(lines):
            fewer = next((one for one in without(lines, begin) if differs(one, folder, seed)), None)
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
    options = parser.parse_args()
    if not shutil.which("p4c-bm2-ss"):
        parser.error("p4c-bm2-ss is not on PATH")
    options.out.mkdir(parents=True, exist_ok=True)
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as made:
        for seed in range(options.first, options.first + options.programs):
            text = Writer(seed).program()
            found = difference(text, Path(made), seed)
            outcomes[found if found in ("", ENDS, REFUSED) else "differ"] += 1
            if found not in ("", ENDS, REFUSED):
                print(f"{seed}: {found[:400]}", flush=True)
                packets = found.startswith(("frame", "the output"))
                text = shortened(text, Path(made), seed) if packets else text
                (options.out / f"{seed}.p4").write_text(text)
    told = ", ".join(f"{count} {outcome or 'agree'}" for outcome, count in outcomes.items())
    print(f"{options.programs} programs: {told}")
    return 1 if outcomes["differ"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
