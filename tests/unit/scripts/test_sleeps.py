"""Tests wait for conditions: a fixed time is too short on a slow machine, and too long elsewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SLEEP = re.compile(r"(?:await asyncio\.|\btime\.|thread::|time::)sleep\((?!0\))")
LOOP, FUNCTION = re.compile(r"(async )?(for|while|loop)\b"), re.compile(r"(async |pub )*(def|fn)\b")
ALLOWED = {
    "tests/soak": "runs for as long as it is told to",
    "tests/unit/tree/test_restart.py: time.sleep(seconds)": "the process itself stands still",
    "tests/unit/experiments/test_interrupt.py: run.PARTS |=": "work that Ctrl-C interrupts",
}


def fixed_sleeps(text: str) -> Iterator[str]:
    """Lines that sleep outside of a loop, which would be a poll or a rate."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if SLEEP.search(line) and not any(LOOP.match(head) for head in enclosing(lines[: number + 1])):
            yield line.strip()


def enclosing(lines: list[str]) -> Iterator[str]:
    """The first lines of the blocks around the last line, up to its function's."""
    indent = indentation(lines[-1])
    for line in reversed(lines):
        if line.strip() and indentation(line) < indent:
            indent = indentation(line)
            yield line.strip()
            if FUNCTION.match(line.strip()):
                return


def indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def files_of_tests() -> list[Path]:
    rust = [path for path in (ROOT / "dataplane").rglob("*.rs") if "target" not in path.parts]
    python = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    return [*python, *(path for path in rust if "tests" in path.parts)]


def test_no_test_sleeps_for_a_fixed_time() -> None:
    found: list[str] = []
    for path in files_of_tests():
        found += [f"{path.relative_to(ROOT)}: {line}" for line in fixed_sleeps(path.read_text())]
    unknown = [each for each in found if not each.startswith(tuple(ALLOWED))]
    assert not unknown, "wait with tests.support.waiting.until, or look with stays all the time"
    assert all(any(each.startswith(one) for each in found) for one in ALLOWED), (
        "an exception that nothing needs"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f():\n    time.sleep(1)\n", ["time.sleep(1)"]),
        ("async def f():\n    with x:\n        await asyncio.sleep(0.1)\n", ["await asyncio.sleep(0.1)"]),
        ("fn f() {\n    thread::sleep(A);\n}\n", ["thread::sleep(A);"]),
        ("def f():\n    while not x():\n        if y:\n            time.sleep(1)\n", []),
        ("fn f() {\n    while x {\n        thread::sleep(A);\n    }\n}\n", []),
        ("async def f():\n    await asyncio.sleep(0)\n    task(asyncio.sleep(9))\n", []),
        ("for x in y:\n    def f():\n        time.sleep(1)\n", ["time.sleep(1)"]),
    ],
)
def test_what_counts_as_fixed(text: str, found: list[str]) -> None:
    assert list(fixed_sleeps(text)) == found
