"""A page's blocks as a reader pastes them: line by line, in the page's order."""

from __future__ import annotations

import re
import sys
from code import InteractiveConsole
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any, Never

from tests.unit.docs.pages import Block


class Console(InteractiveConsole):
    """Python's prompt; the first error ends the page."""

    def paste(self, text: str) -> None:
        lines = [*text.splitlines(), ""]  # the reader's Enter
        for number, line in enumerate(lines):
            if self.push(line) and number == len(lines) - 1:
                raise SyntaxError(f"the prompt waits for more after {lines[-2]!r}")

    def showtraceback(self) -> Never:
        raise self._error()

    def showsyntaxerror(self, filename: str | None = None, **_: Any) -> Never:
        raise self._error()

    @staticmethod
    def _error() -> BaseException:
        error = sys.exc_info()[1]
        assert error is not None
        return error


def run_programs(found: Sequence[Block]) -> Iterator[tuple[str, str]]:
    """Pastes a page's programs in turn: the output of each, and the one shown there."""
    console, printed = Console(), StringIO()
    for block in found:
        if block.language == "python":
            with redirect_stdout(printed := StringIO()):
                console.paste(block.text)
        elif block.language == "text":
            yield printed.getvalue(), block.text


def like(shown: str) -> re.Pattern[str]:
    """Matches output that differs from a page's in measured numbers, which have a point, folder and token."""
    parts = re.split(r"((?<![\d.])\d+\.\d+(?![.\d])|/home/you/groupflow|token=\S+)", shown)
    patterns = {"t": "token=.+", "/": r"\S+"}
    return re.compile(
        "".join(
            patterns.get(part[0], r"[\d.]+") if odd % 2 else re.escape(part) for odd, part in enumerate(parts)
        )
    )
