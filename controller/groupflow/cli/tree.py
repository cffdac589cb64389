"""`groupflow tree`: hosts that pass a stream on to each other, and the dispatchers that place the hosts."""

import argparse
import asyncio
import json
import re
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groupflow.cli import command, values
from groupflow.endpoint.options import own_name

if TYPE_CHECKING:
    from groupflow.tree.options import DispatchOptions

DEFAULT_LISTEN = "0.0.0.0:26495"
MOST_PARALLEL = 16
DEMOTIONS = ("slowest", "largest_latency", "never")


def register(subparsers: command.Subparsers) -> None:
    commands = command.add_group(
        subparsers, "tree", "pass a stream on from host to host, where no switch replicates it",
        example="groupflow tree serve",
    )  # fmt: skip
    _serve_arguments(commands)
    _send_arguments(commands)
    _recv_arguments(commands)

    from groupflow.cli import island, tree_show

    island.register(commands)
    tree_show.register(commands)


def _serve_arguments(commands: command.Subparsers) -> None:
    serve = command.add_command(
        commands, "serve", "run the dispatchers of a tree until stopped: they place each host below another",
        run_serve,
        example="groupflow tree serve --store tree.sqlite",
    )  # fmt: skip
    add = serve.add_argument
    add(
        "--listen", type=values.listen_address, default=DEFAULT_LISTEN, metavar="IP:PORT",
        help="address for hosts (default: %(default)s)",
    )  # fmt: skip
    values.add_token(serve, "the token that every host of the tree must have")
    add(
        "--store", type=Path, metavar="FILE",
        help="SQLite file of the tree, with which a process that is started again goes on (default: none)",
    )  # fmt: skip
    add("--name", default="tree", help="name of the tree in the store (default: %(default)s)")
    add("--plain", action="store_true", help="do not encrypt: token and data can be read on the way")
    add("--threshold-ms", type=float, metavar="MS", help="farthest hosts of one cluster (default: 5)")
    add("--max-members", type=int, metavar="N", help="most hosts in a cluster (default: 64)")
    add("--max-children", type=int, metavar="N", help="most children that any host has (default: 8)")
    what = "child that is moved down when data wait for a child (default: slowest)"
    add("--demotion", choices=DEMOTIONS, help=what)
    add("--patience-ms", type=float, metavar="MS", help="silence of a host that is gone (default: 3000)")
    add(
        "--delay-ms", type=float, metavar="MS",
        help="bound on the latencies from the source to a host in sum, unless the source names another; a"
        " host for which no place is within it is shown as beyond (default: none)",
    )  # fmt: skip
    add(
        "--review-seconds", type=float, metavar="S", dest="review_s",
        help="each host measures its latencies again once in this time, and is moved to a nearer parent;"
        " 0: never (default: 30)",
    )  # fmt: skip
    add("--max-hosts", type=int, default=4096, metavar="N", help="most connections (default: %(default)s)")
    values.add_controller_argument(serve)
    add(
        "--agent-name", metavar="NAME",
        help="name of this process at the controller (default: the tree's, this host's and the port)",
    )  # fmt: skip
    add("--json", action="store_true", help="print events as JSON lines")


def _send_arguments(commands: command.Subparsers) -> None:
    send = command.add_command(
        commands, "send", "send a file or stdin to all hosts of a tree", run_send,
        example="groupflow tree send --to 10.0.0.1:26495 --tls-pin $PIN --file big.iso",
    )  # fmt: skip
    add_host_arguments(send)
    send.add_argument("--file", type=Path, help="file to send (default: stdin)")
    send.add_argument(
        "--members", type=int, default=1, metavar="N", help="begin when N hosts are in the tree (default 1)"
    )
    send.add_argument(
        "--delay-ms", type=float, metavar="MS",
        help="bound on the latencies from here to a host in sum (default: that of the dispatchers)",
    )  # fmt: skip


def _recv_arguments(commands: command.Subparsers) -> None:
    recv = command.add_command(
        commands, "recv", "receive the stream of a tree, and pass it on", run_recv,
        example="groupflow tree recv --to 10.0.0.1:26495 --tls-pin $PIN --output big.iso",
    )  # fmt: skip
    add_host_arguments(recv)
    recv.add_argument("--output", type=Path, help="file to write (default: stdout)")
    recv.add_argument(
        "--from", dest="start", choices=("now", "start"), default="now",
        help="first byte: of the data sent from now on, or the oldest that is kept (default: %(default)s)",
    )  # fmt: skip


def add_access_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the dispatchers' address, and the token and certificate that identify both sides."""
    add = parser.add_argument
    add("--to", required=True, metavar="IP:PORT", help="the dispatchers' address (groupflow tree serve)")
    values.add_token(parser, "the tree's token")
    values.add_pin(parser, "the dispatchers")


def add_host_arguments(parser: argparse.ArgumentParser) -> None:
    add_access_arguments(parser)
    add = parser.add_argument
    add("--name", default=own_name(), help="this host's name in events (default: its host name)")
    add("--listen", metavar="IP:PORT", help="address for children (default: any port)")
    add("--children", type=int, metavar="N", help="most children of this host (default: 4)")
    add("--parallel", type=_parallel, metavar="N", help="number of connections to the parent (default: 1)")
    add(
        "--slow", choices=("wait", "isolate", "skip"), default="wait",
        help="a slow child is waited for, cut off, or skips late data (default: %(default)s)",
    )  # fmt: skip
    add("--align", type=int, metavar="BYTES", help="size of a record, which is skipped whole (default: 1)")
    what = "bytes of the stream that this host holds (default: 16MiB)"
    add("--cache", type=values.size, metavar="SIZE", help=what)
    add(
        "--edges", choices=("stream", "quic", "datagrams"), default="stream",
        help="transport from the parent: TCP; QUIC; or QUIC's datagrams, which skip lost and late data and"
        " need --slow skip (default: %(default)s)",
    )  # fmt: skip
    add(
        "--deadline-ms", type=int, metavar="MS",
        help="age at which the parent drops a datagram that waits (default: 200)",
    )  # fmt: skip
    add(
        "--reorder-ms", type=int, metavar="MS",
        help="wait for a datagram when later datagrams are there (default: 20)",
    )  # fmt: skip
    add("--json", action="store_true", help="print events as JSON lines")


def _parallel(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PARALLEL:
        raise argparse.ArgumentTypeError(f"{text!r}: write a number from 1 to {MOST_PARALLEL}")
    return int(text)


def run_send(args: argparse.Namespace) -> int:
    from groupflow.cli.transfer import check_file, run_transfer
    from groupflow.tree.members import TreeSendOptions

    check_file(args.file)
    own = {"file": args.file, "members": args.members, "delay_ms": args.delay_ms}
    options = TreeSendOptions(**own, **host_options(args))
    return run_transfer(options, json_lines=args.json)


def run_recv(args: argparse.Namespace) -> int:
    from groupflow.cli.transfer import run_transfer
    from groupflow.tree.members import TreeRecvOptions

    options = TreeRecvOptions(output=args.output, start=args.start, **host_options(args))
    return run_transfer(options, json_lines=args.json)


def check_access(args: argparse.Namespace) -> None:
    """Raises CommandError for access options that are missing or malformed."""
    from groupflow.tree.options import TOKEN_RULE, is_token

    if not args.plain and args.tls_pin is None:
        raise command.CommandError(
            "no way to check the dispatchers: pass the fingerprint they print with --tls-pin,"
            " or --plain to go without encryption",
            command.USAGE,
        )
    if not is_token(args.token):
        raise command.CommandError(f"the token: {TOKEN_RULE}", command.USAGE)
    if not args.plain and re.fullmatch(r"[0-9A-Fa-f:]{64,95}", args.tls_pin) is None:
        raise command.CommandError(
            f"--tls-pin {args.tls_pin}: it must be 64 hexadecimal digits", command.USAGE
        )


def host_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options that senders and receivers share. Raises CommandError."""
    check_access(args)
    if args.edges == "datagrams" and args.slow != "skip":
        raise command.CommandError(
            "--edges datagrams needs --slow skip, and --align for whole records:"
            " datagrams that are lost are not sent again",
            command.USAGE,
        )
    shared = ("to", "token", "name", "listen", "children", "parallel", "slow", "align", "cache")
    names = (*shared, "edges", "deadline_ms", "reorder_ms")
    given = {name: getattr(args, name) for name in names}
    return given | {"tls_pin": None if args.plain else args.tls_pin}


def run_serve(args: argparse.Namespace) -> int:
    from groupflow.store.interface import StoreError
    from groupflow.tree.errors import TreeError
    from groupflow.tree.options import DispatchOptions

    if not args.token:
        raise command.CommandError(
            "the token is missing: hexadecimal digits, in GROUPFLOW_TOKEN or a --token-file", command.USAGE
        )
    try:
        options = values.options(DispatchOptions, args)
    except ValueError as error:
        raise command.CommandError(str(error), command.USAGE) from None
    command.log_to_stderr()
    with command.failing_with(TreeError, StoreError), command.failing_with(ValueError, code=command.REFUSED):
        asyncio.run(_serve(options, args))
    return command.OK


async def _serve(options: "DispatchOptions", args: argparse.Namespace) -> None:
    from groupflow.endpoint.controller_link import registered
    from groupflow.store.memory import MemoryStore
    from groupflow.store.sqlite import SqliteStore
    from groupflow.tree.service import Dispatch

    def show(name: str, fields: dict[str, Any]) -> None:
        if args.json:
            print(json.dumps({"event": name, "time": round(time.time(), 3), **fields}), flush=True)
        else:
            print(f"tree: {_line(name, fields)}", file=sys.stderr, flush=True)

    stop = asyncio.Event()
    command.on_stop(stop.set)
    # Each host needs a connection, and so a file descriptor.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    store = MemoryStore() if args.store is None else await SqliteStore.open(args.store)
    try:
        async with Dispatch(options, store, on_event=show) as dispatch:
            name = args.agent_name or f"{options.name}@{own_name()}:{dispatch.port}"
            async with registered(args.controller, "dispatcher", name, dispatch.standing, dispatch.bound):
                await stop.wait()
    finally:
        await store.close()


def _line(name: str, fields: dict[str, Any]) -> str:
    match name:
        case "ready":
            pin = fields["tls_pin"]
            known = "not encrypted" if pin is None else f"hosts know it by --tls-pin {pin}"
            return f"listening at {fields['addr']}:{fields['port']}, {known}"
        case "connected":
            return f"host {fields['host']}: {'source' if fields['source'] else 'there'}"
        case "gone":
            return f"host {fields['host']}: gone"
        case "stood_still":
            return "this process stood still: it gives hosts time to come back"
        case "refused":
            return f"refused host {fields['host'] or '(unknown)'}: {fields['text']}"
        case _:
            return "the source has left: the tree is over"
