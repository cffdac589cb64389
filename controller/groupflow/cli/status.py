"""`groupflow controller show`: the whole system on one page."""

from collections.abc import Sequence
from typing import Any

from groupflow import units
from groupflow.cli import agents
from groupflow.cli.common import Common, Rows, call, print_json, print_table
from groupflow.cli.gather_clients import client_row
from groupflow.cli.session import WANTED, member_row

MOST_ROWS = 8
"""of a table: the page is to fit a screen"""

PATHS = {
    "health": "/health",
    "switches": "/switches",
    "sessions": "/sessions",
    "members": "/members",
    "agents": "/agents",
    "diffusion": "/diffusion",
    "tuning": "/gather",
    "clients": "/gather/clients",
}
"""the parts of the page, which are the keys of --json"""


def show(common: Common) -> None:
    """Show the whole system on one page."""
    found: dict[str, Any] = {part: call(common, "GET", path) for part, path in PATHS.items()}
    if common.json:
        print_json(found)
        return
    health, tuning = found["health"], found["tuning"]
    print(
        f"controller {health['status']}, up for {health['uptime']} s, "
        f"{health['switches_up']} of {health['switches']} switches up"
    )
    switches = sorted(found["switches"], key=lambda each: each["state"] == "up")
    _table("switches: switch list", switches, ("name", "state", "streams", "entries", "problem"))
    _table(
        "sessions: session list",
        _sessions(found),
        ("id", "mode", "policy", "senders", "receivers", "members"),
    )
    wanting = [member_row(each) for each in found["members"] if each["target_bps"] is not None]
    _table("receivers with targets: member list", wanting, ("session", "id", "name", *WANTED))
    shown = sorted(map(agents.row, found["agents"]), key=lambda each: each["state"] == "up")
    if health["sharing"]:
        print(f"\nsharing problem: {health['sharing']}")
    _table(
        "agents: agent list",
        shown,
        ("kind", "name", "switch", "state", "streams", "held", "bound", "problem"),
    )
    _table("controlled flows: flow list", found["diffusion"], ("flow", "kind", "name", "d", "warning"))
    _tuning(tuning, found["clients"])


def _tuning(tuning: dict[str, Any], clients: Rows) -> None:
    if not tuning["clients"]:
        return
    print(
        f"\ntuning: policy {tuning['policy']}, link {units.format_rate(tuning['link_bps'])}, "
        f"{tuning['windows']} of {tuning['buffer']} bytes given, server {tuning['server']}, "
        f"{tuning['sending']} of {tuning['clients']} clients send, "
        f"targets met: {sum(1 for each in clients if each['met'])}"
    )
    if tuning["problem"]:
        print(f"tuning problem: {tuning['problem']}")
    # Clients below their targets come first, absent clients last, and the most important first among equals.
    order = sorted(
        clients, key=lambda each: (each["met"] is not False, not each["sending"], -each["priority"])
    )
    columns = ("name", "priority", "target", "throughput", "met", "window", "connections")
    _table("clients: client list", [client_row(each) for each in order], columns, titled=False)


def _sessions(found: dict[str, Any]) -> Rows:
    names: dict[int, list[str]] = {}
    for member in found["members"]:
        names.setdefault(member["session"], []).append(member["name"])
    return [each | {"members": _some(names.get(each["id"], []))} for each in found["sessions"]]


def _table(what: str, rows: Rows, columns: Sequence[str], *, titled: bool = True) -> None:
    """Prints the first rows under a title; `what` also says which command lists all of them."""
    if not rows:
        return
    title, _, command = what.partition(": ")
    if titled:
        print(f"\n{title}: {len(rows)}")
    print_table(rows[:MOST_ROWS], columns)
    if len(rows) > MOST_ROWS:
        print(f"... and {len(rows) - MOST_ROWS} more: groupflow {command}")


def _some(names: Sequence[str]) -> str:
    return " ".join(names[:MOST_ROWS]) + (" ..." if len(names) > MOST_ROWS else "")
