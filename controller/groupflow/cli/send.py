"""`groupflow send`: a file, or stdin, to every receiver of a session."""

import argparse
from pathlib import Path

from groupflow.cli import values
from groupflow.cli.command import Subparsers, add_command
from groupflow.cli.transfer import add_member_arguments, check_file, run_transfer


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "send", "send a file or stdin to every receiver of a session", run,
        example="groupflow send 7 --file big.iso --members 3",
    )  # fmt: skip
    add_member_arguments(parser)
    parser.add_argument("--file", type=Path, help="file to send (default: stdin)")
    parser.add_argument(
        "--members", type=int, default=1, metavar="N", help="begin when N receivers have joined (default 1)"
    )
    parser.add_argument("--rate", type=values.rate, help="highest rate, e.g. 50mbit (default: found out)")


def run(args: argparse.Namespace) -> int:
    from groupflow.agents.options import SendOptions

    check_file(args.file)
    return run_transfer(values.options(SendOptions, args), json_lines=args.json)
