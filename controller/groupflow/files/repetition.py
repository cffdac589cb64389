"""Repetition in YAML forms: `mc{1..5}` stands for mc1 to mc5, as in a shell.

A range in a name repeats all that the name has; in a list of texts, the text; in a mapping of a list, such as
a link, the mapping. Ranges that belong together count together: `ends: ["s{1..3}", "s{2..4}"]` is a chain.
"""

import re
from collections.abc import Iterator
from typing import cast

from groupflow.files.forms import refuse

MOST = 1000
"""The most that one range repeats: far above any network that a machine runs."""
VERBATIM = ("commands", "programs", "description")
"""Keys whose braces are a shell's or a writer's: they count only beside a repetition of the same length."""
_BRACES = re.compile(r"\{([^{}]*\.\.[^{}]*)\}")
_ENDS = re.compile(r"(\.ends|links\[[0-9]+\])$")
"""keys of the two ends of a link, which are repeated together"""
_RANGE = re.compile(r"([0-9]{1,9})\.\.([0-9]{1,9})")


def expand(value: object) -> object:
    """The value without ranges. Raises Refused."""
    expanded = _expand(value, "text")
    if (text := next(_texts(expanded), None)) is not None:
        refuse("text", f"{text!r} is a range where nothing is repeated; write one in the name, too")
    return expanded


def _texts(value: object) -> Iterator[str]:
    """The texts with ranges."""
    if isinstance(value, str) and _BRACES.search(value):
        yield value
    elif isinstance(value, list):
        for each in cast(list[object], value):
            yield from _texts(each)
    elif isinstance(value, dict):
        for name, each in cast(dict[object, object], value).items():
            if name not in VERBATIM:
                yield from _texts(each)


def _expand(value: object, key: str) -> object:
    """Carries out every repetition below; ranges that belong to a repetition further up stay."""
    if isinstance(value, dict):
        return _mapping(cast(dict[object, object], value), key)
    items: list[object] = cast(list[object], value) if isinstance(value, list) else []
    if not items or key.rpartition(".")[2] in VERBATIM:
        return cast(object, value)
    found: list[object] = []
    for place, item in enumerate(items):
        where = f"{key}[{place}]"
        inner = _expand(item, where)
        in_place = isinstance(item, dict | list) or (isinstance(item, str) and not _ENDS.search(key))
        count = _length(inner, where) if in_place else None
        found += [inner] if count is None else [_nth(inner, index, count) for index in range(count)]
    return found


def _mapping(value: dict[object, object], key: str) -> dict[object, object]:
    found: dict[object, object] = {}
    for name, item in value.items():
        where = str(name) if key == "text" else f"{key}.{name}"
        inner = _expand(item, where)
        count = _length(name, where)
        if count is not None:
            _length([name, inner], where)
        for index in range(count or 1):
            nth = _nth(name, index, count) if count else name
            if nth in found:
                refuse(where, f"duplicate name {nth!r}; rename one")
            found[nth] = _nth(inner, index, count) if count else inner
    return found


def _length(value: object, key: str) -> int | None:
    """The common length of all ranges in a value; None where it has none. Raises Refused."""
    ranges = (_numbers(match[1], key) for text in _texts(value) for match in _BRACES.finditer(text))
    lengths = sorted({len(each) for each in ranges})
    if len(lengths) > 1:
        refuse(key, f"ranges of {' and '.join(map(str, lengths))}; write ranges of one length")
    return lengths[0] if lengths else None


def _numbers(text: str, key: str) -> range:
    match = _RANGE.fullmatch(text)
    if match is None:
        refuse(key, f"'{{{text}}}' is no range; write one like {{1..5}}")
    first, last = int(match[1]), int(match[2])
    if last < first:
        refuse(key, f"'{{{text}}}' counts down; write {{{last}..{first}}}")
    if last - first >= MOST:
        refuse(key, f"'{{{text}}}' repeats more than {MOST} times; write a shorter range")
    return range(first, last + 1)


def _nth(value: object, index: int, count: int) -> object:
    """The value with each range of `count` numbers replaced by its number at `index`."""
    if isinstance(value, dict):
        items = cast(dict[object, object], value).items()
        return {name: _nth(each, index, count) for name, each in items}
    if isinstance(value, list):
        return [_nth(each, index, count) for each in cast(list[object], value)]
    if not isinstance(value, str):
        return value

    def number(match: re.Match[str]) -> str:
        found = _RANGE.fullmatch(match[1])
        if found is None or int(found[2]) - int(found[1]) + 1 != count:
            return match[0]  # a shell's
        return str(int(found[1]) + index)

    text = _BRACES.sub(number, value)
    return int(text) if _BRACES.fullmatch(value) and text.isdecimal() else text
