"""The pages of the documentation, and their contents: code blocks, commands, headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:\A|\n)\n((?:    \S.*\n)+)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    before: str
    """the page's text before it"""


def blocks(page: Path, *languages: str) -> list[Block]:
    """The fenced blocks of a page, in these languages or in all."""
    text = page.read_text()
    found = [Block(match[1], match[2], text[: match.start()]) for match in _FENCE.finditer(text)]
    return [block for block in found if not languages or block.language in languages]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page.read_text())


def shell_lines(page: Path) -> Iterator[str]:
    """The lines of shell blocks, fenced or indented; a line that ends in a backslash goes on."""
    found = [block.text for block in blocks(page, "", "sh")]
    found += [re.sub("^    ", "", text, flags=re.MULTILINE) for text in _INDENTED.findall(prose(page))]
    for text in found:
        yield from re.sub(r"\\\n\s*", "", text).splitlines()


def inline_code(page: Path) -> list[str]:
    return [re.sub(r"\s+", " ", code) for code in re.findall(r"`([^`]+)`", prose(page))]


def anchors(page: Path) -> set[str]:
    """The names by which links reach the headings of a page."""
    found: set[str] = set()
    for heading in _HEADING.findall(prose(page)):
        words = re.sub(r"[^\w\- ]", "", heading.lower())
        found.add(words.replace(" ", "-"))
    return found
