"""argparse's parser with errors of one line, and with arguments that are added when they are needed."""

import re
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Never

from groupflow.errors import Error, Kind

_CHOICE = re.compile(r"argument (\S+): invalid choice: '(.*)' \(choose from (.*)\)")
"""argparse's words for a value that is none of those listed"""


class Parser(ArgumentParser):
    """Reports a usage error in one line that says where help is; adds its arguments when it is first used."""

    later: "Callable[[Parser], None] | None" = None
    found: tuple[str, Sequence[str]] = ("", ())
    """placeholder and names of subcommands that stand in the checkout: an unknown one is not found"""

    elsewhere: Mapping[str, Sequence[str]] = {}
    """by a word that is no subcommand here: the commands that may be meant"""

    more: Callable[[], str] | None = None
    """text at the end of the help, made only when help is asked for"""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("allow_abbrev", False)  # `--cach` is a mistake, not `--cache`
        super().__init__(**settings)

    def complete(self) -> None:
        if self.later:
            later, self.later = self.later, None
            later(self)

    def parse_known_args(self, *args: Any, **named: Any) -> Any:
        self.complete()
        kind, names = self.found
        name = next(iter(args[0] or ()), "-") if args else "-"
        if names and not name.startswith("-") and name not in names:
            known = ", ".join(names)
            raise Error(f"{kind} {name}: unknown; the {kind.lower()}s are {known}", Kind.NOT_FOUND)
        return super().parse_known_args(*args, **named)

    def format_help(self) -> str:
        self.complete()
        return super().format_help() + (self.more() if self.more else "")

    def refuse(self, unknown: Sequence[str]) -> Never:
        """Ends with a usage error that names an unknown word, and the nearest option of this command."""
        name = unknown[0].partition("=")[0]
        near = get_close_matches(name, self._option_string_actions, 1)
        cure = f"did you mean {near[0]}" if near and name.startswith("-") else "leave it out"
        self.error("unrecognized arguments: " + " ".join(unknown) + f"; {cure}")

    def error(self, message: str) -> Never:
        if message.startswith("unrecognized arguments: --token"):  # the rest of it may be a token
            message = "--token: others can read a command line; it takes a file, no token: write --token-file"
        if choice := _CHOICE.fullmatch(message):
            known = [each.strip("'") for each in choice[3].split(", ")]  # without quotes from Python 3.12 on
            near = get_close_matches(choice[2], known, 1) or self.elsewhere.get(choice[2])
            cure = f"did you mean {' or '.join(near)}" if near else f"write one of {', '.join(known)}"
            message = f"{choice[1]} {choice[2]}: unknown; {cure}"
        self.exit(Kind.USAGE.exit_code, f"{self.prog}: {message}; see {self.prog} --help\n")
