"""`groupflow recv`: the stream of a session, into a file or to stdout."""

import argparse
from pathlib import Path

from groupflow.cli import values
from groupflow.cli.command import REFUSED, CommandError, Subparsers, add_command
from groupflow.cli.transfer import add_member_arguments, add_start, run_transfer


def register(subparsers: Subparsers) -> None:
    example = "groupflow recv 7 --output copy.iso"
    parser = add_command(subparsers, "recv", "receive the stream of a session", run, example=example)
    add_member_arguments(parser)
    parser.add_argument("--output", type=Path, help="file to write; - is stdout (default)", default=Path("-"))
    add_start(parser, "first byte - now: the bytes sent from now on; start: all of it, from the caches")
    parser.add_argument(
        "--source", type=int, metavar="ID", help="member id of the sender to hear, if there are several"
    )
    parser.add_argument(
        "--target", type=values.rate, help="rate wanted from a session that isolates, e.g. 18mbit"
    )


def run(args: argparse.Namespace) -> int:
    from groupflow.agents.options import RecvOptions

    output: Path | None = None if str(args.output) == "-" else args.output
    if output is not None and not output.parent.is_dir():
        raise CommandError(f"{output}: folder {output.parent} does not exist; create it first", REFUSED)
    if output is not None and output.is_dir():
        raise CommandError(f"{output}: is a folder; name a file", REFUSED)
    options = values.options(RecvOptions, args, output=output)
    return run_transfer(options, json_lines=args.json)
