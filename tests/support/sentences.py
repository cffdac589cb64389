"""The sentences of a page: text without code blocks, tables, headings, pictures and the targets of links."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONG = 30
"""words: a sentence with more is long"""

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
