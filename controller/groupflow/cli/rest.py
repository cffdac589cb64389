"""Requests of commands to a REST API, and the printing of answers."""

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from groupflow.cli.common import Common, print_pairs, print_table
from groupflow.errors import Error, Kind, UnavailableError, UsageError, reason
from groupflow.model import ports

if TYPE_CHECKING:
    import httpx

DEFAULT_API = f"http://127.0.0.1:{ports.API}"

Row = dict[str, Any]
Rows = list[Row]


def api_of(common: Common) -> str:
    """The API that a command asks: the one that is named, else the named network's, else the default."""
    if common.api and common.net:
        raise UsageError("--api and --net exclude each other; leave one out")
    if common.api:
        return common.api
    if common.net:
        from groupflow.lab.registry import find

        entry = find(common.net)
        if entry.api is None:
            cure = f"`groupflow net show {entry.name}` shows what it has"
            raise Error(f"{entry.name} runs without a controller, which this command asks; {cure}")
        return entry.api
    return os.environ.get("GROUPFLOW_API", DEFAULT_API)


def call(common: Common, method: str, path: str, body: Row | None = None, params: Row | None = None) -> Any:
    """One request to the controller. Raises Error with the kind of the answer."""
    import httpx

    url = api_of(common)
    try:
        with client(url) as http:
            response = http.request(method, path, json=body, params=params)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise unreachable(url, error) from None
    check(response)
    return response.json() if response.content else None


def client(url: str) -> "httpx.Client":
    import httpx

    from groupflow.agents.api_token import headers, trusted

    if url.startswith("unix:"):  # the API knows this process's user
        transport = httpx.HTTPTransport(uds=url.removeprefix("unix:"))
        return httpx.Client(
            base_url="http://localhost/v1", timeout=15.0, trust_env=False, transport=transport
        )
    base = f"{url.rstrip('/')}/v1"
    return httpx.Client(base_url=base, headers=headers(url), timeout=15.0, trust_env=False, verify=trusted())


def check(response: "httpx.Response") -> None:
    if response.is_error:
        try:
            text = response.json()["error"]
        except (ValueError, KeyError, TypeError):
            text = f"the API answered {response.status_code}; is it a groupflow controller?"
        raise Error(str(text), Kind.INVALID if response.is_client_error else Kind.UNAVAILABLE)


def unreachable(url: str, error: Exception) -> UnavailableError:
    return UnavailableError(
        f"no controller at {url} ({reason(error)}); start one with `groupflow net up`, or name its --api"
    )


def answered(common: Common, found: Row) -> None:
    """Prints one object: a line for each value, or JSON."""
    if common.json:
        print_json(found)
    else:
        print_pairs(found)


def listed(common: Common, rows: Rows, columns: Sequence[str], row: Callable[[Row], Row] = dict) -> None:
    """Prints a table, in which `row` makes of each row what people read, or JSON."""
    if common.json:
        print_json(rows)
    else:
        print_table(map(row, rows), columns)


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2))
