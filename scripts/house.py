"""Measures the house: lines of source, words and sentences of the documentation, options of the commands.

`.venv/bin/python scripts/house.py` prints each measure beside its bound, and the words of each page; `--json`
prints the same as one document. The exit code is 1 when a measure is over its bound. Prose is the text of a
page without code blocks, tables, headings, pictures and the targets of links.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

ROOT = Path(__file__).parents[1]
LONG = 30
"""words: a sentence with more is long"""


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
    mean_sentence: float
    """words of a sentence of the pages, on average"""
    long_sentences: float
    """share of the sentences with more than `LONG` words"""
    options: int
    """of all commands, without `--help`; an option that every command takes counts once"""


BOUNDS = Measures(
    lines=112_000,
    compiler=14_750,
    words=45_000,
    page_words=2_000,
    mean_sentence=14,
    long_sentences=0.02,
    options=300,
)

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


_FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`([^`]*)`")
_ITEM = re.compile(r"(?:[-*]|\d+\.) ")
_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+")
_SHORT = re.compile(r"(?:^|[\s(\"])(?:Figs?|[Ee]qs?|al|cf|vs|i\.e|e\.g|[A-Z])\.$")
"""words whose full stop does not end a sentence"""


def sentences(page: str) -> list[str]:
    """The sentences of a page's prose. Every paragraph and every item of a list begins a sentence."""
    return [sentence for paragraph in _paragraphs(page) for sentence in _split(paragraph)]


def _paragraphs(page: str) -> Iterator[str]:
    text = _PICTURE.sub("", _COMMENT.sub("", _FENCE.sub("", page)))
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        bare = line.strip()
        starts = bool(_ITEM.match(bare))
        # Four spaces after an empty line are code; a paragraph of an item has two or three.
        code = line.startswith("    ") and not starts and not paragraph
        ends = not bare or starts or bare.startswith(("|", "#", ">")) or set(bare) <= set("-=")
        if ends and paragraph:
            yield " ".join(paragraph)
            paragraph = []
        if bare and not code and not bare.startswith(("|", "#")) and not set(bare) <= set("-="):
            paragraph.append(_ITEM.sub("", bare, count=1) if starts else bare.lstrip("> "))


def _split(paragraph: str) -> Iterator[str]:
    text = _CODE.sub(lambda code: re.sub(r"[.!?]", "·", code[1]), _LINK.sub(r"\1", paragraph))
    begun = 0
    for end in _END.finditer(text):
        if not _SHORT.search(text[begun : end.start()]):
            yield text[begun : end.start()]
            begun = end.end()
    if _words(text[begun:]):
        yield text[begun:]


def _words(sentence: str) -> int:
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def prose(texts: list[str]) -> tuple[float, float]:
    """The mean number of words of a sentence, and the share of long ones."""
    lengths = [_words(sentence) for text in texts for sentence in sentences(text)]
    if not lengths:
        return 0.0, 0.0
    return sum(lengths) / len(lengths), sum(length > LONG for length in lengths) / len(lengths)


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
    texts = {str(page.relative_to(root)): page.read_text(encoding="utf-8") for page in pages(root)}
    words = {name: len(text.split()) for name, text in texts.items()}
    mean, long = prose(list(texts.values()))
    measured = Measures(
        lines=source_lines(root),
        compiler=source_lines(root, compiler=True),
        words=sum(words.values()),
        page_words=max(words.values()),
        mean_sentence=round(mean, 2),
        long_sentences=round(long, 4),
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
            text = (ROOT / name).read_text(encoding="utf-8")
            mean, long = prose([text])
            print(f"{number:>6} words, sentences of {mean:4.1f}, {long:4.0%} long: {name}")
    return 1 if over(measured) else 0


if __name__ == "__main__":
    sys.exit(main())
