"""`groupflow`: the one command, made of subcommands that live in a module each.

How a module adds a subcommand (send.py, recv.py, ctl.py and controller.py do):

    def register(subparsers: Subparsers) -> None:       # from groupflow.cli.command import Subparsers
        parser = add_command(subparsers, "send", "send a file to a session", run, example="groupflow send 7")
        parser.add_argument("file")

    def run(args: argparse.Namespace) -> int:           # its exit code; may call asyncio.run itself
        ...
        raise CommandError("no such file: f.bin")       # one line on stderr, exit 1
        raise CommandError("wrong token", REFUSED)      # exit 4

`register` runs at every start of the command: import what is slow (grpc, fastapi, httpx) inside `run`.
"""

import sys
from argparse import Action, ArgumentParser
from collections.abc import Sequence
from importlib import import_module
from typing import Never

from groupflow.cli.command import FAILURE, INTERRUPTED, OK, CommandError, Parser, Run

COMMANDS = (
    "net", "trace", "controller", "ctl", "send", "recv", "member", "gather", "bone", "tree", "probe", "sim",
    "play", "sweep", "reproduce", "experiments", "bmv2_agent", "schema", "completion",
)  # fmt: skip
"""Modules of groupflow.cli that register subcommands, in the order of the help text."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one subcommand and returns its exit code, one of `Exit`."""
    try:
        args = build_parser().parse_args(argv)
        run: Run = args.run
        return run(args)
    except SystemExit as done:  # of the parser: help, or a usage error
        return done.code if isinstance(done.code, int) else FAILURE
    except CommandError as error:
        print(f"groupflow: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output (`| head`) has enough
        sys.stderr.close()
        return OK


def build_parser() -> ArgumentParser:
    parser = Parser(prog="groupflow", description="Group communication through P4 switches.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for name in COMMANDS:
        import_module(f"groupflow.cli.{name}").register(subparsers)
    return parser


class _Version(Action):
    """Looks the version up when somebody asks: that takes as long as all else of the start."""

    def __call__(self, parser: ArgumentParser, *_: object) -> Never:
        from importlib.metadata import version

        print(f"groupflow {version('groupflow')}")
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
