"""The parts that all subcommands share: exit codes, one-line errors, the parser, the stop."""

import argparse
import asyncio
import logging
import signal
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Never, TypeAlias

from groupflow.errors import reason
from groupflow.study.errors import expected


class Exit(IntEnum):
    """Exit codes of `groupflow`, as in docs/reference/command-line.md; gfagent has all but the last."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    LOST = 3
    """The stream is complete, but some members died before its end."""
    REFUSED = 4
    """The request was refused or its object not found: trying again without a change will not help."""
    INTERRUPTED = 130
    """Ended by Ctrl-C, as shells count it (128 + SIGINT)."""


OK, FAILURE, USAGE, LOST, REFUSED, INTERRUPTED = Exit

Run: TypeAlias = Callable[[argparse.Namespace], int]
"""The body of a subcommand; returns its exit code."""


def of_agent(code: int) -> int:
    """The command's exit code for an exit code of an agent: usage errors and refusals keep theirs, all others
    become FAILURE."""
    return code if code in (USAGE, REFUSED) else FAILURE


def on_stop(call: Callable[[], object]) -> None:
    """Makes Ctrl-C and SIGTERM run `call` instead of ending this process. To be called in the event loop."""
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, call)


def log_to_stderr(level: str = "info") -> None:
    logging.basicConfig(
        level=level.upper(), format="%(asctime)s level=%(levelname)s logger=%(name)s %(message)s"
    )


class CommandError(Exception):
    """Ends the command with this one line on stderr, and its exit code."""

    def __init__(self, message: str, code: int = FAILURE) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def failing_with(
    *kinds: type[Exception], code: int | Callable[[Exception], int] = FAILURE
) -> Generator[None]:
    """Turns an error of these kinds, raised in the block or in its tasks, into a CommandError of that code.

    (`except*` does not do: an exception raised in its block leaves it in a group.)
    """
    try:
        yield
    except Exception as error:
        cause = expected(error, kinds)
        if cause is None:
            raise
        text = str(cause)
        if isinstance(cause, OSError) and cause.filename:
            text = f"{cause.filename}: {reason(cause)}"
        raise CommandError(text or "no answer in time", code(cause) if callable(code) else code) from None


class Parser(argparse.ArgumentParser):
    """Reports a usage error in one line that says where help is."""

    more: Callable[[], str] | None = None
    """text at the end of --help, made only when help is asked for"""
    later: Callable[["Parser"], None] | None = None
    """adds the arguments that take time to find, when this parser is first used"""
    found: Collection[str] = ()
    """its subcommands, if they stand in the checkout: an unknown one is not found rather than invalid"""

    def complete(self) -> None:
        if self.later:
            later, self.later = self.later, None
            later(self)

    def parse_known_args(self, *args: Any, **named: Any) -> Any:
        self.complete()
        name = next(iter(args[0] or ()), "-") if args else "-"
        if self.found and not name.startswith("-") and name not in self.found:
            kind = self.prog.split()[-1]
            known = ", ".join(self.found)
            raise CommandError(f"{kind.upper()} {name}: unknown; the {kind}s are {known}", REFUSED)
        return super().parse_known_args(*args, **named)

    def format_help(self) -> str:
        return super().format_help() + (self.more() if self.more else "")

    def error(self, message: str) -> Never:
        self.exit(USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


if TYPE_CHECKING:
    Subparsers: TypeAlias = argparse._SubParsersAction[Parser]  # pyright: ignore[reportPrivateUsage]
else:
    Subparsers = object


def add_command(
    subparsers: Subparsers, name: str, summary: str, run: Run | None = None, *, example: str
) -> Parser:
    """Adds a subcommand whose --help ends with an example. `run` None: it is set later, or is a group's."""
    parser = subparsers.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(**({"run": run} if run else {}))
    return parser


def add_group(subparsers: Subparsers, name: str, summary: str, *, example: str) -> Subparsers:
    """Adds a subcommand that has subcommands."""
    parser = add_command(subparsers, name, summary, example=example)
    return parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
