"""`groupflow completion`: a shell script that completes commands and options."""

import argparse
from argparse import ArgumentParser
from contextlib import suppress
from typing import cast

from groupflow.cli.command import OK, CommandError, Parser, Subparsers, add_command


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "completion", "print the script with which a shell completes commands and options", run,
        example='eval "$(groupflow completion bash)"',
    )  # fmt: skip
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell to complete in")


def run(args: argparse.Namespace) -> int:
    import shtab

    from groupflow.cli.main import build_parser

    print(shtab.complete(_whole(build_parser()), args.shell))
    return OK


def _whole(parser: ArgumentParser) -> ArgumentParser:
    """With the arguments that a checkout adds, where there is one."""
    if isinstance(parser, Parser):
        with suppress(CommandError):
            parser.complete()
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if isinstance(action.choices, dict):
            for each in cast("dict[str, ArgumentParser]", action.choices).values():
                _whole(each)
    return parser
