"""`groupflow tree`: hosts that pass a stream on to each other, and the dispatchers that say who to whom."""

import argparse
import asyncio
import json
import os
import re
import resource
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groupflow.cli import values
from groupflow.cli.command import (
    OK,
    REFUSED,
    USAGE,
    CommandError,
    Parser,
    Subparsers,
    add_command,
    failing_with,
    log_to_stderr,
    on_stop,
)

if TYPE_CHECKING:
    from groupflow.tree.members import Parallel
    from groupflow.tree.options import DispatchOptions

DEFAULT_LISTEN = "0.0.0.0:26495"
MOST_PARALLEL = 16
DEMOTIONS = ("slowest", "largest_latency", "never")


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "tree",
        "pass a stream on from host to host, where no switch replicates it",
        example="groupflow tree serve --token $TOKEN",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    _serve_arguments(commands)
    _send_arguments(commands)
    _recv_arguments(commands)

    from groupflow.cli import island, tree_show

    island.register(commands)
    tree_show.register(commands)


def _serve_arguments(commands: Subparsers) -> None:
    serve = add_command(
        commands,
        "serve",
        "run the dispatchers of a tree until stopped: they say which host is below which",
        example="groupflow tree serve --token $TOKEN --store tree.sqlite",
    )
    add = serve.add_argument
    add(
        "--listen", type=values.listen_address, default=DEFAULT_LISTEN, metavar="IP:PORT",
        help="for hosts (default: %(default)s)",
    )  # fmt: skip
    add(
        "--token", default=os.environ.get("GROUPFLOW_TOKEN", ""), metavar="HEX",
        help="who has it may be in the tree (default: $GROUPFLOW_TOKEN)",
    )  # fmt: skip
    add(
        "--store", type=Path, metavar="FILE",
        help="where the tree is kept; who else has it open runs some of the dispatchers, and goes on with"
        " those of one that dies (default: nowhere)",
    )  # fmt: skip
    add("--name", default="tree", help="of the tree in the store (default: %(default)s)")
    add("--plain", action="store_true", help="do not encrypt: token and data can be read on the way")
    add("--threshold-ms", type=float, metavar="MS", help="nearer hosts are in one cluster (default: 5)")
    add("--max-members", type=int, metavar="N", help="hosts in a cluster (default: 64)")
    add("--max-children", type=int, metavar="N", help="children of a host, whatever it offers (default: 8)")
    add(
        "--demotion",
        choices=DEMOTIONS,
        help="who is moved down when data wait for a child (default: slowest)",
    )
    add("--patience-ms", type=float, metavar="MS", help="who is silent for so long is gone (default: 3000)")
    add(
        "--lease-ms", type=float, default=700.0, metavar="MS",
        help="who writes nothing to the store for so long is replaced (default: %(default)g)",
    )  # fmt: skip
    add("--max-hosts", type=int, default=4096, metavar="N", help="connections at once (default: %(default)s)")
    add(
        "--measure-seconds", type=float, default=6.0, metavar="S",
        help="for measuring the way to a host with --parallel auto; 0: never (default: %(default)g)",
    )  # fmt: skip
    add("--json", action="store_true", help="print what happens as JSON lines")
    serve.set_defaults(run=run_serve)


def _send_arguments(commands: Subparsers) -> None:
    send = add_command(
        commands,
        "send",
        "send a file or stdin to all hosts of a tree",
        example="groupflow tree send --to 10.0.0.1:26495 --tls-pin $PIN --token $TOKEN --file big.iso",
    )
    add_host_arguments(send)
    send.add_argument("--file", type=Path, help="file to send (default: stdin)")
    send.add_argument(
        "--members", type=int, default=1, metavar="N", help="begin when N hosts are in the tree (default 1)"
    )
    send.set_defaults(run=run_send)


def _recv_arguments(commands: Subparsers) -> None:
    recv = add_command(
        commands,
        "recv",
        "receive the stream of a tree, and pass it on",
        example="groupflow tree recv --to 10.0.0.1:26495 --tls-pin $PIN --token $TOKEN --output big.iso",
    )
    add_host_arguments(recv)
    recv.add_argument("--output", type=Path, help="file to write (default: stdout)")
    recv.add_argument(
        "--from", dest="start", choices=("now", "start"), default="now",
        help="begin with what comes now, or with the first byte, as far as it is kept (default: %(default)s)",
    )  # fmt: skip
    recv.set_defaults(run=run_recv)


def add_access_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the dispatchers are, and what proves who they and we are."""
    add = parser.add_argument
    add(
        "--to", required=True, metavar="IP:PORT",
        help="the tree's dispatchers (groupflow tree serve); of several processes one, or some as A,B",
    )  # fmt: skip
    add(
        "--token",
        default=os.environ.get("GROUPFLOW_TOKEN", ""),
        help="the tree's (default: $GROUPFLOW_TOKEN)",
    )
    add(
        "--tls-pin", metavar="HEX", default=os.environ.get("GROUPFLOW_TLS_PIN"),
        help="fingerprint of the tree's certificate, as the dispatchers tell (default: $GROUPFLOW_TLS_PIN)",
    )  # fmt: skip
    add("--plain", action="store_true", help="do not encrypt: token and data can be read on the way")


def add_host_arguments(parser: argparse.ArgumentParser) -> None:
    add_access_arguments(parser)
    add = parser.add_argument
    add("--name", default=socket.gethostname(), help="this host's name in events (default: the host's)")
    add("--listen", metavar="IP:PORT", help="where children connect to (default: any port)")
    add("--children", type=int, metavar="N", help="that this host serves at most (default: 4)")
    add(
        "--parallel", type=_parallel, metavar="N",
        help="connections to the parent; auto: the dispatchers measure how many (default: 1)",
    )  # fmt: skip
    add(
        "--slow", choices=("wait", "isolate", "skip"), default="wait",
        help="who is slow is waited for, cut off, or skips what is late (default: %(default)s)",
    )  # fmt: skip
    add("--align", type=int, metavar="BYTES", help="of a record that is skipped whole (default: 1)")
    add(
        "--cache",
        type=values.size,
        metavar="SIZE",
        help="of the stream that this host holds (default: 16MiB)",
    )
    add(
        "--edges", default="stream", metavar="stream|quic|datagrams",
        help="how data come from the parent: over TCP; over QUIC, or TCP where UDP is blocked; or in QUIC's"
        " datagrams: what is lost or late is skipped, with --slow skip (default: %(default)s)",
    )  # fmt: skip
    add(
        "--deadline-ms", type=int, metavar="MS",
        help="that a datagram waits at the parent before it is dropped (default: 200)",
    )  # fmt: skip
    add(
        "--reorder-ms", type=int, metavar="MS",
        help="that a datagram is waited for when later ones are there (default: 20)",
    )  # fmt: skip
    add("--json", action="store_true", help="print events as JSON lines")


def _parallel(text: str) -> "Parallel":
    if text == "auto":
        return "auto"
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PARALLEL:
        raise argparse.ArgumentTypeError(f"{text!r}: write a number from 1 to {MOST_PARALLEL}, or auto")
    return int(text)


def run_send(args: argparse.Namespace) -> int:
    from groupflow.cli.transfer import check_file, run_transfer
    from groupflow.tree.members import TreeSendOptions

    check_file(args.file)
    options = TreeSendOptions(file=args.file, members=args.members, **host_options(args))
    return run_transfer(options, json_lines=args.json)


def run_recv(args: argparse.Namespace) -> int:
    from groupflow.cli.transfer import run_transfer
    from groupflow.tree.members import TreeRecvOptions

    options = TreeRecvOptions(output=args.output, start=args.start, **host_options(args))
    return run_transfer(options, json_lines=args.json)


def check_access(args: argparse.Namespace) -> None:
    """Raises CommandError."""
    from groupflow.tree.options import TOKEN_RULE, is_token

    if not args.plain and args.tls_pin is None:
        raise CommandError(
            "how are the dispatchers known? pass what they tell when they start with --tls-pin,"
            " or --plain to go without encryption",
            USAGE,
        )
    if not is_token(args.token):
        raise CommandError(f"--token: {TOKEN_RULE}", USAGE)
    if not args.plain and re.fullmatch(r"[0-9A-Fa-f:]{64,95}", args.tls_pin) is None:
        raise CommandError(f"--tls-pin {args.tls_pin}: it must be 64 hexadecimal digits", USAGE)


def host_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options that both have. Raises CommandError."""
    from groupflow.tree.members import EDGES

    check_access(args)
    if args.edges not in EDGES:
        cure = "the group transport is none any more; write quic" if args.edges == "group" else "see --help"
        raise CommandError(f"--edges {args.edges}: {cure}", USAGE)
    if args.edges == "datagrams" and args.slow != "skip":
        raise CommandError(
            "--edges datagrams needs --slow skip, and --align for whole records:"
            " what is lost is not sent again",
            USAGE,
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
        raise CommandError("--token: there is none; pass hexadecimal digits, or set GROUPFLOW_TOKEN", USAGE)
    try:
        options = values.options(
            DispatchOptions, args, lease=args.lease_ms / 1000, measure_s=args.measure_seconds
        )
    except ValueError as error:
        raise CommandError(str(error), USAGE) from None
    log_to_stderr()
    with failing_with(TreeError, StoreError), failing_with(ValueError, code=REFUSED):
        asyncio.run(_serve(options, args.store, json_lines=args.json))
    return OK


async def _serve(options: "DispatchOptions", path: Path | None, *, json_lines: bool) -> None:
    from groupflow.store.memory import MemoryStore
    from groupflow.store.sqlite import SqliteStore
    from groupflow.tree.service import Dispatch

    def show(name: str, fields: dict[str, Any]) -> None:
        if json_lines:
            print(json.dumps({"event": name, "time": round(time.time(), 3), **fields}), flush=True)
        else:
            print(f"tree: {_line(name, fields)}", file=sys.stderr, flush=True)

    stop = asyncio.Event()
    on_stop(stop.set)
    # Each host is a connection.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    store = MemoryStore() if path is None else await SqliteStore.open(path)
    try:
        async with Dispatch(options, store, on_event=show):
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
        case "superseded":
            return "others took this process for dead, and run its dispatchers: it begins again"
        case "stood_still":
            return "this process stood still: it gives hosts time to come back"
        case "refused":
            return f"refused host {fields['host'] or '(unknown)'}: {fields['text']}"
        case _:
            return "the source has left: the tree is over"
