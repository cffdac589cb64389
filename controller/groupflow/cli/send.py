"""`groupflow send`: a file, or stdin, to everyone in a session."""

import argparse
from pathlib import Path

from groupflow.cli.command import CommandError, Subparsers, add_command
from groupflow.cli.transfer import add_member_arguments, rate, run_transfer


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "send",
        "send a file or stdin to everyone in a session",
        example="groupflow send 7 --token $TOKEN --file big.iso --members 3",
    )
    add_member_arguments(parser)
    parser.add_argument("--file", type=Path, help="file to send (default: stdin)")
    parser.add_argument(
        "--members", type=int, default=1, metavar="N", help="start when N receivers have joined (default 1)"
    )
    parser.add_argument("--rate", type=rate, help="at most this rate, e.g. 50mbit (default: found out)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from groupflow.client.options import SendOptions

    if args.file is not None and not args.file.is_file():
        problem = "not a regular file" if args.file.exists() else "no such file"
        raise CommandError(f"{args.file}: {problem}; name a file to send")
    options = SendOptions(
        session=args.session,
        name=args.name,
        token=args.token,
        iface=args.iface,
        join_timeout=args.join_timeout,
        file=args.file,
        members=args.members,
        rate=args.rate,
    )
    return run_transfer(options, json_lines=args.json)
