"""Makes docs/reference/commands.md, the page of all commands, from the parser of groupflow.

`.venv/bin/python scripts/commands.py` writes the page. A test compares the page with the parser.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from groupflow.cli.table import Verb

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reference/commands.md"
MADE = "<!-- made by scripts/commands.py -->"
OPENING = f"""{MADE}
# All commands

*Reference: each command of groupflow, with what it does and its options.*

Every command also has `--help`, `--verbose` and `--quiet`. The last column names the other common options.
[The command line](command-line.md) explains them.
"""


def page() -> str:
    """The text of the page."""
    from groupflow.cli.completion import whole
    from groupflow.cli.main import build_parser
    from groupflow.cli.table import ALONE, NOUNS

    commands = _below(whole(build_parser()))
    text = OPENING
    for noun in NOUNS:
        text += _table(f"`{noun.name}`: {noun.summary}", noun.verbs, _below(commands[noun.name]))
    return text + _table("Commands without a noun", ALONE, commands)


def _table(heading: str, verbs: Iterable[Verb], parsers: dict[str, ArgumentParser]) -> str:
    head = f"\n## {heading}\n\n| command | what it does | options | common |\n|---|---|---|---|\n"
    return head + "".join(_row(verb, parsers[verb.name]) for verb in verbs)


def _below(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    """The commands below a noun, by their names."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if isinstance(action.choices, dict):
            return cast("dict[str, ArgumentParser]", action.choices)
    return {}


def _row(verb: Verb, parser: ArgumentParser) -> str:
    # The commands of `reproduce` and `experiment` stand in the checkout: one row has the options of all.
    below = list(_below(parser).values())
    usage = f"{parser.prog} NAME" if below else parser.usage or parser.prog
    words = usage.removeprefix("groupflow ").replace(" [options]", "")
    does = verb.summary or (parser.description or "").rstrip(".")
    options = dict.fromkeys(option for each in below or [parser] for option in _options(each))
    common = ", ".join(f"`--{name}`" for name in verb.uses)
    cells = (f"`{words}`", does, ", ".join(f"`{option}`" for option in options), common)
    return " | ".join(("", *(cell.replace("|", r"\|") for cell in cells), "\n")).lstrip()


def _options(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if action.option_strings and "--help" not in action.option_strings:
            value = action.metavar or "|".join(map(str, action.choices or ()))
            name = action.option_strings[-1 if action.default is True else 0]
            yield f"{name} {value}" if isinstance(value, str) and action.nargs != 0 else name


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "controller"))
    PAGE.write_text(page(), encoding="utf-8")
