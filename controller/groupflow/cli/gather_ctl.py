"""`groupflow ctl gather`: the clients of a server that gathers, and their targets, over its REST API."""

import argparse
from typing import Any

from groupflow.cli import values
from groupflow.cli.command import OK, USAGE, CommandError, Subparsers
from groupflow.cli.rest_client import call, leaf, print_json, print_rows
from groupflow.cli.tables import print_pairs
from groupflow.network import units

COLUMNS = (
    *("name", "priority", "target", "throughput", "rtt_ms", "loss_ratio"),
    *("window", "advertised", "connections", "wanted", "bytes"),
)


def add(group: Subparsers) -> None:
    leaf(group, "show", "show the receive buffer of the server and its policy", "gather show", _show)
    leaf(group, "list", "list clients with their targets and throughputs", "gather list", _list_clients)
    example = "gather set cam1 --target 2mbit"
    changed = leaf(group, "set", "change the targets of a client while it sends", example, _change)
    changed.add_argument("client", metavar="NAME")
    changed.add_argument("--target", type=values.rate, metavar="RATE", help="target throughput, e.g. 1mbit")
    changed.add_argument(
        "--minimum",
        type=_minimum,
        metavar="RATE",
        help="throughput if not all targets can be met; none: the smallest target",
    )
    changed.add_argument("--priority", type=int, metavar="N", help="the higher, the more important")


def _show(args: argparse.Namespace) -> int:
    found = call(args, "GET", "/gather")
    if args.json:
        return print_json(found)
    print_pairs(found)
    return OK


def _list_clients(args: argparse.Namespace) -> int:
    found = call(args, "GET", "/gather/clients")
    return print_rows(args, found if args.json else [_row(client) for client in found], COLUMNS)


def _change(args: argparse.Namespace) -> int:
    body: dict[str, Any] = {}
    if args.target is not None:
        body["target_bps"] = args.target
    if args.minimum is not None:
        body["minimum_bps"] = None if args.minimum == "none" else args.minimum
    if args.priority is not None:
        body["priority"] = args.priority
    if not body:
        raise CommandError("nothing to change; give --target, --minimum or --priority", USAGE)
    return print_json(call(args, "PATCH", f"/gather/clients/{args.client}", body=body))


def _row(client: dict[str, Any]) -> dict[str, Any]:
    rate = client["throughput_bps"]
    return client | {
        "target": units.format_rate(client["target_bps"]),
        "throughput": None if rate is None else f"{rate / 1000:.0f}kbit",
    }


def _minimum(text: str) -> int | str:
    return text if text == "none" else values.rate(text)
