"""The options that every command takes, in any place; requests to a REST API; and what commands print."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groupflow.errors import Error, InvalidError, UsageError
from groupflow.model.values import URL

if TYPE_CHECKING:
    from groupflow.agents.events import Event
    from groupflow.api import Client


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


def check_folder(path: Path | None, option: str = "--out", *, is_written: bool = True) -> None:
    """Raises Error where no folder is at the place of a folder, or of one above it; or on a full disk, if the
    command writes there."""
    there = path
    while there is not None and not there.exists():
        there = there.parent
    if there is None:
        return
    if not there.is_dir():
        raise InvalidError(f"{option} {path}: {there} is no folder; name another one")
    disk = os.statvfs(there)
    if is_written and disk.f_blocks and not disk.f_bfree:  # file systems without blocks have no figures
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


def shown(common: Common, who: str, *, but: Sequence[str] = ()) -> Callable[["Event"], None]:
    """Prints each event of gfagent: as JSON, or, except for those that `but` names, its line for people."""

    def show(event: "Event") -> None:
        if common.json:
            print(event.json(), flush=True)
        elif not common.quiet and "human" in event.fields and event.name not in but:
            print(f"{who}: {event.fields['human']}", file=sys.stderr, flush=True)

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


Row = dict[str, Any]
Rows = list[Row]


def client(common: Common) -> "Client":
    """Of the API that is named, or the named network's, or the default one."""
    from groupflow.api import Client

    if common.api and common.net:
        raise UsageError("--api and --net exclude each other; leave one out")
    if common.net:
        from groupflow.lab.registry import find

        entry = find(common.net)
        if entry.api is None:
            cure = f"`groupflow net show {entry.name}` shows what it has"
            raise Error(f"{entry.name} runs without a controller, which this command asks; {cure}")
        return Client(entry.api, option="--api")
    return Client(common.api, option="--api")


def call(common: Common, method: str, path: str, body: Row | None = None, params: Row | None = None) -> Any:
    """One request to the controller. Raises Error with the kind of the answer."""
    with client(common) as api:
        return api.request(method, path, body, params)


def answered(
    common: Common, found: Row, pairs: Row | None = None, *tables: tuple[str, Rows, Sequence[str]]
) -> None:
    """Prints one object: a line for each value, or for each of `pairs` instead, and tables (title, rows and
    columns) that have rows; or JSON."""
    if common.json:
        print_json(found)
        return
    print_pairs(found if pairs is None else pairs)
    for title, rows, columns in tables:
        if rows:
            print(f"\n{title}" if title else "")
            print_table(rows, columns)


def listed(common: Common, rows: Rows, columns: Sequence[str], row: Callable[[Row], Row] = dict) -> None:
    """Prints a table, in which `row` makes of each row what people read, or JSON."""
    if common.json:
        print_json(rows)
    else:
        print_table(map(row, rows), columns)


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2))
