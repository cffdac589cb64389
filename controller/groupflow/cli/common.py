"""The options that every command takes, in any place; and the stop."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from groupflow.errors import Error, InvalidError, UsageError
from groupflow.model.values import URL

if TYPE_CHECKING:
    from groupflow.agents.events import Event

EVERYWHERE = (
    ("--json", None, "print JSON"),
    ("--net", "NAME", "a running network, and the API of its controller"),
    ("--api", "URL", "the controller's API (default: $GROUPFLOW_API, or http://127.0.0.1:9580)"),
    ("--verbose, -v", None, "say more of what goes on"),
    ("--quiet, -q", None, "say only what goes wrong"),
)
"""options, what stands for their values, and their help"""


@dataclass(frozen=True)
class Common:
    """The options that every command takes."""

    json: bool = False
    net: str | None = None
    api: str | None = None
    verbose: bool = False
    quiet: bool = False

    @property
    def level(self) -> int:
        return logging.DEBUG if self.verbose else logging.WARNING if self.quiet else logging.INFO

    def refuse_unused(self, command: str, uses: Sequence[str]) -> None:
        """Raises UsageError for a given option that the command would ignore."""
        for name in ("json", "net", "api"):
            if getattr(self, name) and name not in uses:
                raise UsageError(f"--{name}: `groupflow {command}` has no use for it; leave it out")


_FLAGS = {"--json": "json", "--verbose": "verbose", "-v": "verbose", "--quiet": "quiet", "-q": "quiet"}
_VALUES = {"--net": "net", "--api": "api"}


def taken_out(words: Sequence[str]) -> tuple[Common, list[str]]:
    """The common options among the words of a command, and the other words. Raises UsageError.

    The words of a program that `net exec` runs, and all after `--`, are left alone.
    """
    common, rest = Common(), list[str]()
    words = list(words)
    while words:
        word = words.pop(0)
        name, given, value = word.partition("=")
        if word == "--" or (rest[:2] == ["net", "exec"] and len(rest) == 3):
            return common, [*rest, word, *words]
        if word in _FLAGS:
            common = replace(common, **{_FLAGS[word]: True})
        elif name in _VALUES:
            if not given and (not words or words[0].startswith("-")):
                raise UsageError(f"{name}: a value is missing; see groupflow --help")
            value = value if given else words.pop(0)
            if name == "--api" and not value.startswith("unix:"):
                value = _url(value)
            common = replace(common, **{_VALUES[name]: value})
        else:
            rest.append(word)
    return common, rest


def _url(text: str) -> str:
    try:
        return str(URL.parse(text))
    except ValueError as error:
        raise UsageError(f"--api: {error}") from None


def check_folder(path: Path | None, option: str = "--out") -> None:
    """Raises Error where no folder is at the place of a folder, or of one above it, or on a full disk."""
    there = path
    while there is not None and not there.exists():
        there = there.parent
    if there is None:
        return
    if not there.is_dir():
        raise InvalidError(f"{option} {path}: {there} is no folder; name another one")
    disk = os.statvfs(there)
    if disk.f_blocks and not disk.f_bfree:  # file systems without blocks have no figures
        raise Error(f"{option} {path}: no space left on device; free some room there, or name another one")


def check_output(path: Path | None, option: str) -> None:
    """Raises Error where there is no place for a file."""
    if path is None or path.is_char_device() or path.is_fifo():
        return
    if path.is_dir():
        raise InvalidError(f"{option} {path}: is a folder; name a file")
    if not path.parent.is_dir():
        raise InvalidError(f"{option} {path}: folder {path.parent} does not exist; create it first")
    check_folder(path.parent, f"{option} {path}: folder")


def log_to_stderr(level: int = logging.INFO) -> None:
    logging.basicConfig(level=level, format="%(asctime)s level=%(levelname)s logger=%(name)s %(message)s")


def on_stop(call: Callable[[], object]) -> None:
    """Makes Ctrl-C and SIGTERM run `call` instead of ending this process. To be called in the event loop."""
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, call)


def shown(common: Common, who: str, describe: Callable[["Event"], str | None]) -> Callable[["Event"], None]:
    """Prints each event: as JSON, or for people what `describe` says of it; None: nothing."""

    def show(event: "Event") -> None:
        if common.json:
            print(event.json(), flush=True)
        elif not common.quiet and (line := describe(event)) is not None:
            print(f"{who}: {line}", file=sys.stderr, flush=True)

    return show


def print_table(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> None:
    """Prints one line for each row, under a line of column names."""
    cells = [[_text(row.get(column)) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for line in ([column.upper() for column in columns], *cells):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def print_pairs(values: Mapping[str, object]) -> None:
    """Prints one line for each value."""
    width = max(map(len, values))
    for key, value in values.items():
        print(f"{key.ljust(width)}  {_text(value)}")


def _text(value: object) -> str:
    match value:
        case None | [] | "":
            return "-"
        case bool():
            return "yes" if value else "no"
        case list():
            return ",".join(map(str, value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case _:
            return str(value)
