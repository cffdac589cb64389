"""`groupflow completion`: a shell script that completes commands and options."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, cast

from groupflow.cli.common import EVERYWHERE
from groupflow.errors import Error
from groupflow.model.fields import Help


def show(shell: Annotated[Literal["bash", "zsh", "tcsh"], Help("the shell to complete in")]) -> None:
    """Print the script with which a shell completes commands and options."""
    import shtab

    from groupflow.cli.main import build_parser

    print(shtab.complete(_with_common(whole(build_parser())), shell))


def _with_common(parser: ArgumentParser) -> ArgumentParser:
    """The parser with the common options of each command, which `common.taken_out` reads."""
    uses: Sequence[str] | None = parser.get_default("uses")
    if uses is not None:
        for names, placeholder, text in EVERYWHERE:
            options = names.split(", ")
            if options[0].removeprefix("--") in (*uses, "verbose", "quiet"):
                how: dict[str, Any] = {"metavar": placeholder} if placeholder else {"action": "store_true"}
                parser.add_argument(*options, help=text, **how)
    for each in _below(parser):
        _with_common(each)
    return parser


def whole(parser: ArgumentParser) -> ArgumentParser:
    """The parser with all arguments, also those that a checkout adds where there is one."""
    from groupflow.cli.parser import Parser

    if isinstance(parser, Parser):
        with suppress(Error):
            parser.complete()
    for each in _below(parser):
        whole(each)
    return parser


def _below(parser: ArgumentParser) -> Iterator[ArgumentParser]:
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if isinstance(action.choices, dict):
            yield from cast("dict[str, ArgumentParser]", action.choices).values()


_FORMS = {
    "topology": "groupflow.files.topology_forms:TopologyForm",
    "scenario": "groupflow.sim.forms:ScenarioForm",
    "sweep": "groupflow.study.sweep.form:SweepForm",
    "clients": "groupflow.control.gather.clients:ClientListForm",
}


def show_schema(
    file: Annotated[Literal["topology", "scenario", "sweep", "clients"], Help("kind of the file")],
) -> None:
    """Print the JSON schema of a YAML file, with which editors check and complete it."""
    print(json.dumps(resolve_name(_FORMS[file]).model_json_schema(), indent=2))
