"""`groupflow completion`: a shell script that completes commands and options."""

from argparse import ArgumentParser
from contextlib import suppress
from typing import Annotated, Literal, cast

from groupflow.errors import Error
from groupflow.model.fields import Help


def show(shell: Annotated[Literal["bash", "zsh", "tcsh"], Help("the shell to complete in")]) -> None:
    """Print the script with which a shell completes commands and options."""
    import shtab

    from groupflow.cli.main import build_parser

    print(shtab.complete(whole(build_parser()), shell))


def whole(parser: ArgumentParser) -> ArgumentParser:
    """The parser with all arguments, also those that a checkout adds where there is one."""
    from groupflow.cli.parser import Parser

    if isinstance(parser, Parser):
        with suppress(Error):
            parser.complete()
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if isinstance(action.choices, dict):
            for each in cast("dict[str, ArgumentParser]", action.choices).values():
                whole(each)
    return parser
