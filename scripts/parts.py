"""Runs the parts of a test command: all of them, even when one fails; then says how long each took.

`parts.py -j2 types='basedpyright' unit='pytest tests/unit'` runs two shell commands side by side, keeps their
output apart, and exits with 1 when one failed. The slowest tests are read from the JUnit files that the parts
write into --results.

With --bound it also fails when the parts took more processor time than 2 cores have in so many seconds: other
work on the machine changes that little, while the time on a clock may become several times as long.
"""

import argparse
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

SLOWEST = 10
CORES = 2
"""of the machine for which a bound is given"""


@dataclass(frozen=True)
class Ended:
    name: str
    code: int
    seconds: float


def run(part: str, apart: bool) -> Ended:
    name, command = part.split("=", 1)
    began = time.monotonic()
    print(f"== {name}", flush=True)
    pipe, joined = (subprocess.PIPE, subprocess.STDOUT) if apart else (None, None)
    done = subprocess.run(command, shell=True, stdout=pipe, stderr=joined)
    ended = Ended(name, done.returncode, time.monotonic() - began)
    state = "ok" if not done.returncode else f"FAILED ({done.returncode})"
    output = (done.stdout or b"").decode(errors="replace")
    print(f"{output}== {name}: {state}, {ended.seconds:.0f} s", flush=True)
    return ended


def slowest(results: Path, began: float) -> list[tuple[float, str]]:
    """Seconds and name of the slowest tests in the JUnit files that were written since `began`."""
    found: list[tuple[float, str]] = []
    for file in results.glob("*.xml"):
        if file.stat().st_mtime >= began:
            for case in ElementTree.parse(file).iter("testcase"):
                name = f"{case.get('classname', '').removeprefix('tests.')}::{case.get('name')}"
                found.append((float(case.get("time", 0)), name))
    return sorted(found, reverse=True)[:SLOWEST]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", metavar="NAME=COMMAND")
    parser.add_argument("-j", type=int, default=1, metavar="N", help="parts at one time (default 1)")
    parser.add_argument(
        "--bound", type=float, metavar="SECONDS", help=f"of {CORES} cores: fail when all parts take more"
    )
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="folder of the JUnit files")
    asked = parser.parse_args()
    parts: list[str] = asked.parts
    began, started = time.monotonic(), time.time()
    with ThreadPoolExecutor(asked.j) as pool:
        ended = list(pool.map(run, parts, [asked.j > 1] * len(parts)))
    whole = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime
    print()
    if asked.results:
        for seconds, name in slowest(asked.results, started):
            print(f"{seconds:8.1f} s  {name}")
        print()
    for part in ended:
        print(f"{part.seconds:8.0f} s  {part.name}{'  FAILED' if part.code else ''}")
    print(f"{whole:8.0f} s  in all, with {processor:.0f} s of processor time")
    late = asked.bound is not None and processor > CORES * asked.bound
    if late:
        print(f"took more processor time than {asked.bound:g} s on {CORES} cores", file=sys.stderr)
    return int(late or any(part.code for part in ended))


if __name__ == "__main__":
    sys.exit(main())
