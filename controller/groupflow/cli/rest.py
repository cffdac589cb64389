"""Requests of commands to a REST API, and the printing of answers."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from groupflow.cli.common import Common, print_pairs, print_table
from groupflow.errors import Error, UsageError

if TYPE_CHECKING:
    from groupflow.api import Client

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


def answered(common: Common, found: Row, pairs: Row | None = None) -> None:
    """Prints one object: a line for each value, or for each of `pairs` instead; or JSON."""
    if common.json:
        print_json(found)
    else:
        print_pairs(found if pairs is None else pairs)


def listed(common: Common, rows: Rows, columns: Sequence[str], row: Callable[[Row], Row] = dict) -> None:
    """Prints a table, in which `row` makes of each row what people read, or JSON."""
    if common.json:
        print_json(rows)
    else:
        print_table(map(row, rows), columns)


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2))
