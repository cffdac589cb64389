"""`groupflow trace`: the way of packets through a switch of a running network, step by step."""

import argparse
import os

from groupflow.cli import values
from groupflow.cli.command import REFUSED, CommandError, Subparsers, add_command, failing_with


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "trace",
        "show the way of packets through a switch: headers, tables, queues, and why one was dropped (root)",
        run,
        example="sudo .venv/bin/groupflow trace s1 --dropped\n"
        "         sudo .venv/bin/groupflow trace s2 --match ipv4.dst=10.0.2.1 --next 3 --json",
    )  # fmt: skip
    add = parser.add_argument
    add("switch", metavar="SWITCH", help="a switch of the network: s1")
    add("--net", metavar="NAME", help="the network (default: the only one that runs)")
    add_packets(parser)
    add("--json", action="store_true", help="print JSON, an object a line")


def add_packets(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose packets; `request` reads them."""
    add = parser.add_argument
    add("--port", type=int, help="only packets that arrive at this port")
    add("--session", type=int, metavar="ID", help="only packets of this session")
    add(
        "--match", action="append", default=[], metavar="HEADER.FIELD=VALUE",
        help="only packets with this field: ipv4.dst=10.0.2.1, ethernet.ethertype=0x800/0xff00; repeatable",
    )  # fmt: skip
    add(
        "--dropped", action="store_true",
        help="only packets of which a copy is dropped (of fast traffic: a sample)",
    )  # fmt: skip
    add("--next", type=values.count, metavar="N", help="number of packets (default: 1)")


def request(args: argparse.Namespace) -> dict[str, object]:
    """The packets to trace, as docs/reference/trace.md has them."""
    chosen: dict[str, object] = {n: getattr(args, n) for n in ("port", "session", "match", "dropped")}
    return chosen | {"next": args.next or 1}


def run(args: argparse.Namespace) -> int:
    from groupflow.endpoint.programs import find_program
    from groupflow.lab.leftovers import RUN_FOLDER
    from groupflow.lab.registry import RegistryError, find

    with failing_with(RegistryError, code=REFUSED):
        entry = find(args.net)
    if args.switch not in entry.switches:
        known = ", ".join(entry.switches)
        raise CommandError(f"no switch {args.switch} in {entry.name}; there are {known}", REFUSED)
    if entry.switch != "gfswitch":
        raise CommandError(f"{entry.name} runs {entry.switch}, which tells no traces; use gfswitch", REFUSED)
    command = [str(find_program("gfswitch")), "trace", "--socket", str(RUN_FOLDER / f"{args.switch}.sock")]
    for option in ("port", "session", "next"):
        if (value := getattr(args, option)) is not None:
            command += [f"--{option}", str(value)]
    command += [word for text in args.match for word in ("--match", text)]
    command += [f"--{flag}" for flag in ("dropped", "json") if getattr(args, flag)]
    launcher = ("mnexec", "-a", str(entry.pid))
    with failing_with(OSError):
        os.execvp(launcher[0], [*launcher, *command])
