"""`groupflow switch`: the switches of a running controller, over its REST API."""

from typing import Annotated, Any, TypeAlias

from groupflow.cli.common import Common, print_pairs
from groupflow.cli.rest import Row, Rows, call, listed, print_json
from groupflow.model.fields import Help

COLUMNS = ("name", "device_id", "grpc", "state", "agent", "streams", "entries", "problem")

Switch: TypeAlias = Annotated[str, Help("name of the switch", "SWITCH")]


def list_all(common: Common) -> None:
    """List the switches."""
    listed(common, call(common, "GET", "/switches"), COLUMNS)


def show(
    common: Common,
    switch: Switch,
    *,
    table: Annotated[str | None, Help("table of which all entries are shown, or `groups`", "NAME")] = None,
) -> None:
    """Show a switch, and with --table the entries that it holds."""
    found = call(common, "GET", f"/switches/{switch}")
    entries: Rows = []
    if table:
        entries = call(common, "GET", f"/switches/{switch}/entries", params={"table": table})
    if common.json:
        print_json({**found, "entries": entries} if table else found)
        return
    print_pairs(found)
    for entry in entries:
        action = f"{entry['action']}({_join(entry['params'])})" if entry["action"] else "replicate"
        targets = " ".join(f"{copy['port']}:{copy['instance']}" for copy in entry["replicas"])
        print(f"{entry['table']}[{_join(entry['match'])}] {action} {targets}".rstrip())


def counters(
    common: Common,
    switch: Switch,
    counter: Annotated[str | None, Help("name of one counter (default: all)", "COUNTER")] = None,
) -> None:
    """Show the counters of a switch."""
    params = {"counter": counter} if counter else {}
    found = call(common, "GET", f"/switches/{switch}/counters", params=params)
    if common.json:
        print_json(found)
        return
    rows: Rows = [{"counter": name, **count} for name, counts in found.items() for count in counts]
    listed(common, rows, ("counter", "index", "packets", "bytes"))


def _join(values: Row | dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())
