"""`groupflow ctl gather`: receiver-side tuning: its policy, its limits and its clients, over REST."""

import argparse
import re
import secrets
from pathlib import Path
from typing import Any

from groupflow import units
from groupflow.cli import values
from groupflow.cli.command import OK, REFUSED, USAGE, CommandError, Parser, Subparsers
from groupflow.cli.rest_client import (
    call,
    deletion,
    given,
    given_or_none,
    leaf,
    listing,
    print_answer,
    print_json,
)
from groupflow.cli.tables import print_pairs

COLUMNS = (
    *("name", "priority", "target", "throughput", "met", "rtt_ms", "loss_ratio"),
    *("window", "advertised", "connections", "wanted", "bytes"),
)


def add(group: Subparsers) -> None:
    clients = listing("/gather/clients", COLUMNS, client_row)
    leaf(group, "show", "show the policy, the limits and the server", "gather show", _show)
    leaf(group, "list", "list clients with their targets and throughputs", "gather list", clients)
    _add_configure(group)
    added = leaf(
        group, "add", "let a client send, and print its token", "gather add cam3 --target 2mbit", _add
    )
    changed = leaf(
        group, "set", "change the targets of a client while it sends",
        "gather set cam1 --target 2mbit", _change,
    )  # fmt: skip
    removed = leaf(
        group,
        "remove",
        "let a client send no more, and end its stream",
        "gather remove cam3",
        deletion("/gather/clients/{client}"),
    )
    for parser in (added, changed, removed):
        parser.add_argument("client", metavar="NAME")
    for parser in (added, changed):
        add_targets(parser, required=parser is added)
    added.add_argument(
        "--token-file", type=Path, metavar="FILE",
        help="file with the token of the client (default: a new token, which is printed once)",
    )  # fmt: skip


def _add_configure(group: Subparsers) -> None:
    configure = leaf(
        group, "configure", "change the policy and what the server has, while clients send",
        "gather configure --policy sakajiri --link 10mbit --buffer 100000", _configure,
    )  # fmt: skip
    add = configure.add_argument
    add("--policy", metavar="NAME", help="tuning of the clients; `show` lists the policies")
    add("--link", type=values.rate, metavar="RATE", help="rate of the server's link")
    add("--buffer", type=values.size, metavar="SIZE", help="bound of all receive buffers together")
    add("--connections", type=values.count, metavar="N", help="most connections of a client")


def add_targets(parser: Parser, *, required: bool = False, clearable: bool = False) -> None:
    """`clearable`: the target may be `none`."""
    rate_or_none = values.or_none(values.rate)
    parser.add_argument(
        "--target", type=rate_or_none if clearable else values.rate, metavar="RATE", required=required,
        help="throughput, e.g. 1mbit" + ("; none: no target" if clearable else ""),
    )  # fmt: skip
    parser.add_argument(
        "--minimum", type=rate_or_none, metavar="RATE",
        help="throughput if not all targets can be met; none: the smallest target",
    )  # fmt: skip
    parser.add_argument("--priority", type=int, metavar="N", help="the higher, the more important")


def _show(args: argparse.Namespace) -> int:
    return print_answer(args, call(args, "GET", "/gather"))


def _configure(args: argparse.Namespace) -> int:
    body = given(policy=args.policy, link_bps=args.link, buffer=args.buffer, connections=args.connections)
    if not body:
        raise CommandError("nothing to change; give --policy, --link, --buffer or --connections", USAGE)
    return print_answer(args, call(args, "PATCH", "/gather", body=body))


def _add(args: argparse.Namespace) -> int:
    from groupflow.control.gather.clients import TOKEN, token_hash

    # The token stays here: the controller and the server know only its hash.
    token = secrets.token_hex(16)
    if args.token_file:
        token = values.token_in(args.token_file, "--token-file")
        if not re.fullmatch(TOKEN, token):
            problem = f"--token-file {args.token_file}: no token; write 1 to 255 hexadecimal digits"
            raise CommandError(problem, REFUSED)
    body = {"name": args.client, "token_sha256": token_hash(token), **_given_targets(args)}
    added = call(args, "POST", "/gather/clients", body=body)
    if args.token_file is None:
        added["token"] = token
    if args.json:
        return print_json(added)
    print_pairs({"client": added["name"], "token": "as in the file" if args.token_file else token})
    return OK


def _change(args: argparse.Namespace) -> int:
    path = f"/gather/clients/{args.client}"
    return print_answer(args, call(args, "PATCH", path, body=changed_targets(args)))


def changed_targets(args: argparse.Namespace) -> dict[str, Any]:
    """The changes that are given. Raises CommandError."""
    if not (body := _given_targets(args)):
        raise CommandError("nothing to change; give --target, --minimum or --priority", USAGE)
    return body


def _given_targets(args: argparse.Namespace) -> dict[str, Any]:
    return given_or_none(target_bps=args.target, minimum_bps=args.minimum, priority=args.priority)


def client_row(client: dict[str, Any]) -> dict[str, Any]:
    """A client's view with rates for people."""
    rate = client["throughput_bps"]
    return client | {
        "target": units.format_rate(client["target_bps"]),
        "throughput": None if rate is None else f"{rate / 1000:.0f}kbit",
    }
