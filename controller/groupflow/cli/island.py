"""`groupflow tree island`: a host where a tree meets an island of P4 switches."""

import argparse
import json
from functools import partial
from typing import Any

from groupflow.agents.events import Event
from groupflow.agents.options import RoleOptions
from groupflow.cli import values
from groupflow.cli.command import Subparsers, add_command, on_stop
from groupflow.cli.transfer import ended, report_lost
from groupflow.cli.tree import add_host_arguments, host_options


def register(commands: Subparsers) -> None:
    island = add_command(
        commands, "island",
        "hand a tree's stream to a session, whose switches replicate it; or the other way", run,
        example="groupflow tree island --to 10.0.0.1:26495 --tls-pin $PIN --session 7 --members 3",
    )  # fmt: skip
    add_host_arguments(island)
    add = island.add_argument
    add("--session", type=values.session, required=True, metavar="N", help="the session in the island")
    values.add_token(
        island, "the session's token", option="--session-token-file", variable="GROUPFLOW_SESSION_TOKEN",
        dest="session_token",
    )  # fmt: skip
    add("--iface", help="network interface of the island (default: the first that is up)")
    add(
        "--members", type=int, default=1, metavar="N",
        help="begin when N receivers, or N hosts of the tree, have joined (default 1)",
    )  # fmt: skip
    add("--rate", type=values.rate, help="highest rate in the island, e.g. 50mbit (default: found out)")
    add("--outward", action="store_true", help="from the session, whose sender is in the island, to the tree")


def run(args: argparse.Namespace) -> int:
    return ended(_run(args))


async def _run(args: argparse.Namespace) -> int:
    from groupflow.agents.display import Display, describe
    from groupflow.tree.island import Island

    receiving, sending = _options(args)
    session = f"session {args.session}"
    into, out_of = ("tree", session) if args.outward else (session, "tree")
    with Display(into, json_lines=args.json) as display:

        def show(side: str, event: Event) -> None:
            if args.json:
                print(json.dumps({"side": side.split()[0], **event.fields}), flush=True)
            elif side == into:
                display.show(event)
            elif (line := describe(event)) is not None:
                display.say(f"from the {side}: {line}")

        island = Island(receiving, sending, on_received=partial(show, out_of), on_sent=partial(show, into))
        async with island:
            on_stop(island.stop)
            complete = await island.finish()
    return report_lost(complete)


def _options(args: argparse.Namespace) -> tuple[RoleOptions, RoleOptions]:
    """Options of the receiving and of the sending side. Raises CommandError."""
    from groupflow.agents.options import RecvOptions, SendOptions
    from groupflow.tree.members import TreeRecvOptions, TreeSendOptions

    host = host_options(args)
    member: dict[str, Any] = {
        "session": args.session,
        "name": args.name,
        "token": args.session_token,
        "iface": args.iface,
    }
    if args.outward:
        return RecvOptions(start="start", **member), TreeSendOptions(members=args.members, **host)
    sending = SendOptions(members=args.members, rate=args.rate, **member)
    return TreeRecvOptions(start="start", **host), sending
