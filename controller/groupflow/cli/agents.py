"""`groupflow ctl agents`: all that caches, splits or places, and its bounds, over REST."""

import argparse
from typing import Any

from groupflow import units
from groupflow.cli import values
from groupflow.cli.command import OK, USAGE, CommandError, Parser, Subparsers
from groupflow.cli.rest_client import Row, call, given_or_none, leaf, listing, print_json
from groupflow.cli.tables import print_pairs

COLUMNS = (
    *("kind", "name", "switch", "at", "state", "streams", "members", "files"),
    *("held", "bound", "repairs", "heard", "problem"),
)
KINDS = ("cache", "hub", "rim", "dispatcher")
"""those that obey a bound of their own"""


def add(groups: Subparsers) -> None:
    listed = listing("/agents", COLUMNS, row)
    parser = leaf(groups, "agents", "list all agents and what they hold, or bound one", "agents", listed)
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    leaf(
        commands, "list", "list cache and split agents, hubs, rims and dispatchers", "agents list", listed,
        default=argparse.SUPPRESS,
    )  # fmt: skip
    bound = leaf(
        commands, "bound", "set an agent's bound: kept, obeyed within two seconds or from the next file on",
        "agents bound rim h3 --bytes 64MiB", _bound, default=argparse.SUPPRESS,
    )  # fmt: skip
    bound.add_argument("kind", choices=KINDS)
    bound.add_argument("name", metavar="NAME")
    for option, parse, metavar, what in (
        ("--bytes", values.size, "SIZE", "bytes of a rim, or of each stream of a cache agent"),
        ("--rate", values.rate, "RATE", "sending rate of a hub, which obeys from its next file on"),
        ("--hosts", values.count, "N", "most connections of a dispatcher"),
    ):
        kind = values.or_none(parse)
        bound.add_argument(option, type=kind, metavar=metavar, help=f"{what}; none: its own")


def _bound(args: argparse.Namespace) -> int:
    bounds = given_or_none(bytes=args.bytes, rate_bps=args.rate, hosts=args.hosts)
    if not bounds:
        raise CommandError("nothing to set; give --bytes, --rate or --hosts", USAGE)
    body = {"kind": args.kind, "name": args.name, "bounds": bounds}
    found = call(args, "PUT", "/agents/bounds", body=body)
    if args.json:
        return print_json(found)
    print_pairs({"agent": f"{args.kind} {args.name}", "bound": _bound_text({"bounds": found})})
    return OK


def row(agent: Row) -> Row:
    """An agent for people: what it holds, and the bound that it obeys or, a cache, is told to."""
    return agent | agent["holds"] | {"held": _held(agent), "bound": _bound_text(agent)}


def _held(agent: dict[str, Any]) -> int | None:
    hosts, held = agent["holds"]["hosts"], agent["holds"]["bytes"]
    return held if hosts is None else hosts


def _bound_text(agent: dict[str, Any]) -> str:
    bounds = agent["bounds"]
    if bounds["rate_bps"] is not None:
        return units.format_rate(bounds["rate_bps"])
    if bounds["hosts"] is not None:
        return f"{bounds['hosts']} hosts"
    each = " a stream" if agent.get("kind") == "cache" else ""
    return "its own" if bounds["bytes"] is None else f"{bounds['bytes']} bytes{each}"
