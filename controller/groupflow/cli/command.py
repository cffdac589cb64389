"""What every subcommand shares: exit codes, the error of one line, the parser."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Never, TypeAlias

OK = 0
FAILURE = 1
USAGE = 2
REFUSED = 4
"""Refused or not found: trying again without a change will not help."""
INTERRUPTED = 130
"""Ended by Ctrl-C, as shells count it (128 + SIGINT)."""

Run: TypeAlias = Callable[[argparse.Namespace], int]
"""What a subcommand does; returns its exit code."""


def of_agent(code: int) -> int:
    """The command's exit code where an agent failed with this one: what makes no sense, and what was refused,
    is told apart."""
    return code if code in (USAGE, REFUSED) else FAILURE


class CommandError(Exception):
    """Ends the command with one line on stderr and the exit code."""

    def __init__(self, message: str, code: int = FAILURE) -> None:
        super().__init__(message)
        self.code = code


class Parser(argparse.ArgumentParser):
    """Reports a usage error in one line that says where help is."""

    def error(self, message: str) -> Never:
        self.exit(USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


if TYPE_CHECKING:
    Subparsers: TypeAlias = argparse._SubParsersAction[Parser]  # pyright: ignore[reportPrivateUsage]
else:
    Subparsers = object


def add_command(subparsers: Subparsers, name: str, summary: str, *, example: str) -> Parser:
    """Adds a subcommand whose --help ends with an example."""
    return subparsers.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
