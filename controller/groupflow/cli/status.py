"""`groupflow ctl status`: the whole system on one page."""

import argparse
from collections.abc import Sequence
from typing import Any

from groupflow import units
from groupflow.cli import agents
from groupflow.cli.command import OK, Subparsers
from groupflow.cli.gather_ctl import client_row
from groupflow.cli.rest_client import Rows, call, leaf, print_json
from groupflow.cli.tables import print_table

WANTED = ("priority", "target", "share", "rate")
"""columns of a receiver's tuning"""
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


def add(groups: Subparsers) -> None:
    leaf(groups, "status", "show the whole system on one page", "status", show)


def show(args: argparse.Namespace) -> int:
    found: dict[str, Any] = {part: call(args, "GET", path) for part, path in PATHS.items()}
    if args.json:
        return print_json(found)
    health, tuning = found["health"], found["tuning"]
    print(
        f"controller {health['status']}, up for {health['uptime']} s, "
        f"{health['switches_up']} of {health['switches']} switches up"
    )
    switches = sorted(found["switches"], key=lambda each: each["state"] == "up")
    _table("switches", switches, ("name", "state", "streams", "entries", "problem"))
    _table("sessions", _sessions(found), ("id", "mode", "policy", "senders", "receivers", "members"))
    wanting = [member_row(each) for each in found["members"] if each["target_bps"] is not None]
    _table("receivers with targets: members list", wanting, ("session", "id", "name", *WANTED))
    shown = sorted(map(agents.row, found["agents"]), key=lambda each: each["state"] == "up")
    if health["sharing"]:
        print(f"\nsharing problem: {health['sharing']}")
    _table("agents", shown, ("kind", "name", "switch", "state", "streams", "held", "bound", "problem"))
    _table("diffusion", found["diffusion"], ("flow", "kind", "name", "d", "warning"))
    _tuning(tuning, found["clients"])
    return OK


def member_row(member: dict[str, Any]) -> dict[str, Any]:
    """A member's view with rates for people; only a receiver with a target or a share has a priority."""
    is_tuned = member["target_bps"] is not None or member["share_bps"] is not None
    return member | {
        "priority": member["priority"] if is_tuned else None,
        "target": _rate(member["target_bps"]),
        "share": _rate(member["share_bps"]),
        "rate": _rate(member["rate_bps"]),
    }


def _rate(rate: int | None) -> str | None:
    return None if rate is None else f"{rate / 1000:.0f}kbit"


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
    _table("gather", [client_row(each) for each in order], columns, titled=False)


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
        print(f"... and {len(rows) - MOST_ROWS} more: groupflow ctl {command or f'{what} list'}")


def _some(names: Sequence[str]) -> str:
    return " ".join(names[:MOST_ROWS]) + (" ..." if len(names) > MOST_ROWS else "")
