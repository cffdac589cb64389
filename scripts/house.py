"""Measures the house: lines of source, words of the documentation, options of the commands.

`.venv/bin/python scripts/house.py` prints each measure beside its bound, and the words of each page; `--json`
prints the same as one document. The exit code is 1 when a measure is over its bound.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Measures:
    """The measures of the house; as `BOUNDS`, the most that each may be."""

    lines: int
    """of source in Rust, Python and P4 without tests and the P4 compiler"""
    compiler: int
    """lines of the P4 compiler"""
    words: int
    """of all pages in docs/"""
    page_words: int
    """of the longest page in docs/"""
    options: int
    """of all commands, without `--help`; an option that every command takes counts once"""


BOUNDS = Measures(lines=112_000, compiler=14_560, words=45_000, page_words=2_000, options=300)

_SOURCE = re.compile(r"\.(rs|py|p4)$")
_TEST = re.compile(r"(^|/)tests?/")
_COMPILER = "dataplane/compiler/"


def source_lines(root: Path = ROOT, *, compiler: bool = False) -> int:
    """Lines of the files of source that git knows, without those in folders of tests.

    Those of the P4 compiler count apart.
    """
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True)
    files = [name for name in listed.stdout.splitlines() if _SOURCE.search(name) and not _TEST.search(name)]
    files = [name for name in files if name.startswith(_COMPILER) == compiler]
    return sum((root / name).read_bytes().count(b"\n") for name in files if (root / name).exists())


GENERATED = "<!-- made by scripts/commands.py -->"
"""the first line of a page that a program makes: its words do not count"""


def pages(root: Path = ROOT) -> list[Path]:
    """The pages of docs/ that people write."""
    found = sorted([*(root / "docs").glob("*.md"), *(root / "docs").glob("*/*.md")])
    return [page for page in found if not page.read_text(encoding="utf-8").startswith(GENERATED)]


def command_line() -> Mapping[str, int]:
    """The number of options of each command, by its words; those of every command are `groupflow`'s."""
    from groupflow.cli.common import EVERYWHERE
    from groupflow.cli.completion import whole
    from groupflow.cli.main import build_parser

    found: dict[str, int] = {}

    def walk(parser: argparse.ArgumentParser) -> None:
        actions = parser._actions  # pyright: ignore[reportPrivateUsage]
        options = [action for action in actions if action.option_strings]
        found[parser.prog] = sum("--help" not in action.option_strings for action in options)
        for action in actions:
            if isinstance(action.choices, dict):
                for command in cast("dict[str, argparse.ArgumentParser]", action.choices).values():
                    walk(command)

    parser = whole(build_parser())
    walk(parser)
    found[parser.prog] += len(EVERYWHERE)
    return found


def measure(root: Path = ROOT) -> tuple[Measures, dict[str, int]]:
    """The measures, and the words of each page."""
    words = {str(page.relative_to(root)): len(page.read_text("utf-8").split()) for page in pages(root)}
    measured = Measures(
        lines=source_lines(root),
        compiler=source_lines(root, compiler=True),
        words=sum(words.values()),
        page_words=max(words.values()),
        options=sum(command_line().values()),
    )
    return measured, words


def over(measured: Measures, bounds: Measures = BOUNDS) -> list[str]:
    """The names of the measures that are over their bounds."""
    most = asdict(bounds)
    return [name for name, value in asdict(measured).items() if value > most[name]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one document instead of tables")
    asked = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends quietly behind `| head`
    sys.path.insert(0, str(ROOT / "controller"))
    measured, words = measure()
    commands = command_line()
    if asked.json:
        form = {"measured": asdict(measured), "bounds": asdict(BOUNDS), "pages": words, "commands": commands}
        print(json.dumps(form, indent=2))
    else:
        most = asdict(BOUNDS)
        for name, value in asdict(measured).items():
            print(f"{name:16} {value:>9} {most[name]:>9}{'  over' if value > most[name] else ''}")
        print(f"{'commands':16} {len(commands):>9}\n")
        for name, number in sorted(words.items(), key=lambda page: -page[1]):
            print(f"{number:>6} words: {name}")
    return 1 if over(measured) else 0


if __name__ == "__main__":
    sys.exit(main())
