"""`groupflow bone`: a hub that sends files to many caches at once, the caches, and orders to a hub."""

import argparse
import asyncio
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from groupflow.agents.bone.options import HUB_HTTP, METHODS, REPAIRS, RIM_HTTP, HubOptions, RimOptions
from groupflow.agents.options import own_name
from groupflow.cli import command, values
from groupflow.cli.transfer import ended

if TYPE_CHECKING:
    from groupflow.agents.bone.orders import FileView
    from groupflow.agents.events import Event

_POLL_S = 0.5
_REPAIR = (
    "packets sent again (default: %(default)s, as in the paper; recommended: selective, 174 s where "
    "go-back-n takes 416)"
)
"""figures: docs/results/amcb.md, scheduled"""


def register(subparsers: command.Subparsers) -> None:
    commands = command.add_group(
        subparsers, "bone", "send files to many caches at once, in rounds, and serve them there",
        example="groupflow bone hub --dir outbox --iface eth0 --rate 96kbit",
    )  # fmt: skip
    _hub_arguments(commands)
    _rim_arguments(commands)
    _send_arguments(commands)
    _list_arguments(commands)


def _hub_arguments(commands: command.Subparsers) -> None:
    hub = command.add_command(
        commands, "hub",
        "send new files of a folder, files that a rim asks for, and ordered files, until stopped", run_hub,
        example="groupflow bone hub --dir outbox --iface eth0 --rate 96kbit\n"
        "         groupflow bone hub --dir outbox --session 7\n"
        "         groupflow bone hub --dir outbox --method unicast --rim 10.0.1.1:26500",
    )  # fmt: skip
    add = hub.add_argument
    add("--dir", dest="folder", type=Path, required=True, metavar="FOLDER", help="the files")
    add("--all", dest="everything", action="store_true", help="also send files already in the folder")
    add("--method", choices=METHODS, default="scheduled", help="way of sending (default: %(default)s)")
    add("--repair", choices=REPAIRS, default=HubOptions.repair, help=_REPAIR)
    add(
        "--rim", dest="rims", action="append", default=[], metavar="IP:PORT",
        help="a rim's address, for --method unicast; may be repeated",
    )  # fmt: skip
    add("--rate", type=values.rate, metavar="RATE", help="sending rate, with all headers (default: 1mbit)")
    add("--packet", type=int, metavar="BYTES", help="file bytes in a packet, at first (default: 1000)")
    add("--per-round", type=int, metavar="N", help="packets in a round (default: 64)")
    add("--join-ms", type=int, metavar="MS", help="time for rims to join a transfer (default: 2000)")
    add("--result-ms", type=int, metavar="MS", help="time for rims to answer a round (default: 2000)")
    add("--grace-ms", type=int, metavar="MS", help="delay that a packet may have (default: 500)")
    add("--patience", type=int, metavar="N", help="rounds that a rim may leave unanswered (default: 20)")
    _common_arguments(hub, HUB_HTTP, "address where the hub takes orders")


def _rim_arguments(commands: command.Subparsers) -> None:
    rim = command.add_command(
        commands, "rim",
        "cache the files that a hub sends and serve them to local clients over HTTP, until stopped", run_rim,
        example="groupflow bone rim --dir cache --iface eth0 --max-bytes 10GiB\n"
        "         curl -O http://127.0.0.1:26503/video.mp4",
    )  # fmt: skip
    add = rim.add_argument
    add("--dir", dest="folder", type=Path, required=True, metavar="FOLDER", help="the files")
    add(
        "--max-bytes", metavar="SIZE",
        help="bound of all files; the least recently used files are removed first (default: 1GiB)",
    )  # fmt: skip
    add("--hub", metavar="IP:PORT", help="the only hub that is heard (default: any)")
    add(
        "--miss-wait", type=int, metavar="SECONDS",
        help="time that clients wait for the first byte of a file (default: 120)",
    )  # fmt: skip
    add(
        "--client-wait", type=int, metavar="SECONDS",
        help="time until a client that reads nothing is disconnected (default: 60)",
    )  # fmt: skip
    _common_arguments(rim, RIM_HTTP, "address where clients get files")


def _common_arguments(parser: command.Parser, http: str, purpose: str) -> None:
    add = parser.add_argument
    add("--http", default=http, metavar="IP:PORT", help=f"{purpose} (default: %(default)s)")
    add("--group", metavar="IP:PORT", help="multicast group of the rims (default: 239.83.84.1:26500)")
    add("--session", type=int, metavar="ID", help="multicast in this session, through P4 switches")
    values.add_token(parser, "the session's token")
    add("--name", default=own_name(), help="name in the session (default: this host's name)")
    add("--iface", metavar="NAME", help="network interface (default: the first that is up)")
    add("--address", metavar="IP", help="own address (default: the interface's address)")
    values.add_controller_argument(parser)
    add("--json", action="store_true", help="print events as JSON lines")


def _send_arguments(commands: command.Subparsers) -> None:
    send = command.add_command(
        commands, "send", "have a hub send a file of its folder", run_send,
        example="groupflow bone send video.mp4 --wait",
    )  # fmt: skip
    send.add_argument("name", metavar="NAME", help="the file's name in the hub's folder")
    send.add_argument("--at", default=HUB_HTTP, metavar="IP:PORT", help="the hub (default: %(default)s)")
    send.add_argument("--wait", action="store_true", help="wait until the file is sent; exit 1 if it fails")
    send.add_argument("--json", action="store_true", help="print the state of the file as JSON")


def _list_arguments(commands: command.Subparsers) -> None:
    listing = command.add_command(
        commands, "list", "list the files of a hub or a rim", run_list,
        example="groupflow bone list --at 10.0.1.1:26503",
    )  # fmt: skip
    listing.add_argument(
        "--at", default=HUB_HTTP, metavar="IP:PORT", help="hub or rim (default: this host's hub, %(default)s)"
    )
    listing.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run_hub(args: argparse.Namespace) -> int:
    return _run(values.options(HubOptions, args, rims=tuple(args.rims), orders=bool(args.controller)), args)


def run_rim(args: argparse.Namespace) -> int:
    return _run(values.options(RimOptions, args, orders=bool(args.controller)), args)


def _run(options: HubOptions | RimOptions, args: argparse.Namespace) -> int:
    command.log_to_stderr("warning")
    return ended(_stay(options, args.controller, json_lines=args.json))


async def _stay(options: HubOptions | RimOptions, controller: str | None, *, json_lines: bool) -> None:
    from groupflow.agents.agent_process import AgentProcess
    from groupflow.agents.bone.registration import bone_registered

    def show(event: "Event") -> None:
        if event.name == "holds":  # for the controller, each second
            return
        if json_lines:
            print(event.json(), flush=True)
        elif (line := describe(event)) is not None:
            print(f"bone: {line}", file=sys.stderr, flush=True)

    stop = asyncio.Event()
    command.on_stop(stop.set)
    async with (
        AgentProcess(options, on_event=show, piped_input=options.orders) as agent,
        bone_registered(agent, controller),
    ):
        await agent.until(stop)


_TOLD = {
    "ready": "ready at {addr}:{port}, http://{http}/",
    "joined": "joined the session as member {member}",
    "began": "{file}: begins",
    "had": "{file}: is here already",
    "stored": "{file}: stored, {size} bytes in {seconds:.1f} s",
    "failed": "{file}: {why}",
    "skipped": "{file}: {why}",
    "evicted": "{file}: removed to make room",
    "forgotten": "{file}: forgotten, and not served",
    "damaged": "{file}: damaged, and not served",
    "asking": "{file}: the hub is asked for it",
    "answered": "{file}: the hub says {answer}",
    "asked": "{file}: a rim wants it: {answer}",
    "rim_lost": "rim {rim:08x} does not answer and is let go",
    "order_refused": "an order of the controller is refused: {text}",
    "trouble": "{cause}",
}
"""lines for a person, by event"""


def describe(event: "Event") -> str | None:
    """One line for a person; None for events that are not worth a line."""
    if event.name != "sent":
        told = _TOLD.get(event.name)
        return told and told.format_map(event.fields)
    if why := event.fields.get("why"):
        return f"{event.text('file')}: not sent: {why}"
    again = 100 * (event.integer("sent_bytes") / max(1, event.integer("size")) - 1)
    who = f"{event.integer('complete')} rims complete, {event.integer('lost')} lost"
    seconds = event.number("seconds")
    return f"{event.text('file')}: sent in {seconds:.1f} s, {again:.0f} % again, {who}"


def run_send(args: argparse.Namespace) -> int:
    from groupflow.agents.bone.orders import OrderError, send_file

    try:
        view = send_file(args.at, args.name)
        if args.wait:
            view = _watch(args.at, view)
    except OrderError as error:
        raise command.CommandError(str(error), command.FAILURE if error.found else command.REFUSED) from None
    if args.json:
        print(json.dumps(asdict(view)))
    else:
        print(f"bone: {view.name}: {view.state}", file=sys.stderr)
    if view.state == "failed":
        raise command.CommandError(f"{view.name}: {view.error or 'not sent'}; see the hub's messages")
    return command.OK


def _watch(at: str, view: "FileView") -> "FileView":
    """Shows the progress of a file until the file is sent. Raises OrderError."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    from groupflow.agents.bone.orders import show_file

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"{view.name}: {view.state}", total=view.size)
        while view.state in ("hashing", "queued", "sending"):
            time.sleep(_POLL_S)
            view = show_file(at, view.name)
            bar.update(task, completed=view.done_bytes, description=f"{view.name}: {view.state}")
    return view


def run_list(args: argparse.Namespace) -> int:
    from groupflow.agents.bone.orders import OrderError, list_files

    with command.failing_with(OrderError):
        listing = list_files(args.at)
    if args.json:
        print(json.dumps(asdict(listing)))
        return command.OK
    from groupflow.cli.tables import print_table

    print_table(map(asdict, listing.files), ["name", "size", "state", "sha256", "error"])
    return command.OK
