"""Requests of `groupflow ctl` to a REST API, and the printing of answers."""

import argparse
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groupflow.cli.command import (
    FAILURE,
    OK,
    REFUSED,
    CommandError,
    Parser,
    Run,
    Subparsers,
    add_command,
    failing_with,
)
from groupflow.cli.tables import print_pairs, print_table
from groupflow.network import ports
from groupflow.network.reasons import reason

if TYPE_CHECKING:
    import httpx

DEFAULT_API = f"http://127.0.0.1:{ports.API}"

Row = dict[str, Any]
Rows = list[Row]


def leaf(
    group: Subparsers, name: str, summary: str, example: str, run: Run, *, default: object = False
) -> Parser:
    """`default` is that of --json; where the group has the option itself, argparse.SUPPRESS keeps it."""
    parser = add_command(group, name, summary, run, example=f"groupflow ctl {example}")
    parser.add_argument("--json", action="store_true", default=default, help="print JSON")
    return parser


def session_leaf(sessions: Subparsers, name: str, summary: str, run: Run, options: str = "") -> Parser:
    """A command about one session; `options` is text for the end of its example."""
    parser = leaf(sessions, name, summary, f"sessions {name} 7{options}", run)
    parser.add_argument("session", type=int)
    return parser


def call(
    args: argparse.Namespace,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
    params: dict[str, Any] | None = None,
) -> Any:
    """One request to the controller. Raises CommandError."""
    import httpx

    try:
        with client(args.api) as http:
            response = http.request(method, path, json=body, params=params)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise unreachable(args.api, error) from None
    check(response)
    return response.json() if response.content else None


def client(url: str) -> "httpx.Client":
    import httpx

    from groupflow.endpoint.api_token import headers, trusted
    from groupflow.endpoint.errors import ClientError

    if url.startswith("unix:"):  # the API knows this process's user
        transport = httpx.HTTPTransport(uds=url.removeprefix("unix:"))
        return httpx.Client(
            base_url="http://localhost/v1", timeout=15.0, trust_env=False, transport=transport
        )
    base = f"{url.rstrip('/')}/v1"
    with failing_with(ClientError):
        return httpx.Client(
            base_url=base, headers=headers(url), timeout=15.0, trust_env=False, verify=trusted()
        )


def check(response: "httpx.Response") -> None:
    if response.is_error:
        try:
            text = response.json()["error"]
        except (ValueError, KeyError, TypeError):
            text = f"the API answered {response.status_code}; is it a groupflow controller?"
        raise CommandError(str(text), REFUSED if response.is_client_error else FAILURE)


def unreachable(url: str, error: Exception) -> CommandError:
    return CommandError(
        f"no controller at {url} ({reason(error)}); run `groupflow controller run`, or set GROUPFLOW_API"
    )


def given(**values: Any) -> dict[str, Any]:
    """The fields of a request that are given on the command line."""
    return {key: value for key, value in values.items() if value is not None}


def given_or_none(**values: Any) -> dict[str, Any]:
    """The given fields, of which the word `none` clears one."""
    return {key: None if value == "none" else value for key, value in given(**values).items()}


def print_answer(args: argparse.Namespace, found: dict[str, Any]) -> int:
    """Prints one object: a line for each value, or JSON."""
    if args.json:
        return print_json(found)
    print_pairs(found)
    return OK


def print_rows(
    args: argparse.Namespace, rows: Rows, columns: tuple[str, ...], row: Callable[[Row], Row] = dict
) -> int:
    """Prints a table, in which `row` makes of each row what people read, or JSON."""
    if args.json:
        return print_json(rows)
    print_table(map(row, rows), columns)
    return OK


def listing(path: str, columns: tuple[str, ...], row: Callable[[Row], Row] = dict) -> Run:
    """The body of a command that prints all objects that there are."""
    return lambda args: print_rows(args, call(args, "GET", path), columns, row)


def deletion(path: str) -> Run:
    """The body of a command that deletes one object, to which arguments lead: `/sessions/{session}`."""
    return lambda args: call(args, "DELETE", path.format_map(vars(args))) or OK


def print_json(value: object) -> int:
    return print_line(json.dumps(value, indent=2))


def print_line(text: str) -> int:
    print(text)
    return OK
