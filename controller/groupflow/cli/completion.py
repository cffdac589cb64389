"""`groupflow completion`: a shell script that completes commands and options."""

import argparse

from groupflow.cli.command import OK, Subparsers, add_command


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "completion",
        "print the script with which a shell completes commands and options",
        example='eval "$(groupflow completion bash)"',
    )
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell to complete in")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import shtab

    from groupflow.cli.main import build_parser

    print(shtab.complete(build_parser(), args.shell))
    return OK
