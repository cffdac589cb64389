"""Values on the command line: argparse says why it refuses a value, and how to write it."""

import argparse
import os
import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from groupflow.cli.command import REFUSED, USAGE, CommandError
from groupflow.network import units
from groupflow.network.reasons import reason

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Options = TypeVar("Options", bound=DataclassInstance)
else:
    Options = TypeVar("Options")
Value = TypeVar("Value")

MAX_SESSION = (1 << 24) - 1
"""Session ids are the low 24 bits of a group address."""


def value(parse: Callable[[str], Value]) -> Callable[[str], Value]:
    """A `type` for argparse: refuses a text for which `parse` raises ValueError, with that error's text."""

    def read(text: str) -> Value:
        try:
            return parse(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from None

    return read


size = value(units.parse_size)
port = value(units.parse_port)
to_address = value(units.parse_address)
listen_address = value(partial(units.parse_address, lowest_port=0))
"""port 0: any that is free"""


@value
def api(text: str) -> tuple[str, int] | int | Path:
    """An address to listen at; a Unix socket's path, written `unix:PATH`; or, written `fd:3`, the descriptor
    of a socket that listens already."""
    kind, _, number = text.partition(":")
    if kind == "unix" and number:
        return Path(number)
    if kind == "fd":
        if not number.isdecimal():
            raise units.UnitError(f"{text!r} is no descriptor; write one like fd:3")
        return int(number)
    return units.parse_address(text, lowest_port=0)


@value
def rate(text: str) -> int:
    """Bits per second, e.g. `50mbit`."""
    return units.parse_finite_rate(text)


@value
def url(text: str) -> str:
    """The address of a REST API, without a path."""
    if not re.fullmatch(r"https?://[^/\s]+/?", text):
        raise units.UnitError(f"{text!r} is no URL; write one like http://10.0.0.1:9580")
    return text


@value
def session(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= MAX_SESSION:
        raise units.UnitError(f"{text!r} is no session; write a number from 1 to {MAX_SESSION}")
    return number


@value
def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise units.UnitError(f"{text!r} is not a count; write a number from 1 on")
    return int(text)


class _TokenFile(argparse.Action):
    """Takes a token from a file: every user can read a command line."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, token_in(Path(values), option_string or ""))


def token_in(file: Path, option: str) -> str:
    """Raises CommandError."""
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise CommandError(f"{option} {file}: {reason(error)}; it takes a file, no token", REFUSED) from None
    if not text:
        raise CommandError(f"{option} {file}: the file is empty; write the token into it", REFUSED)
    return text


def add_token(
    parser: argparse.ArgumentParser,
    whose: str,
    *,
    option: str = "--token-file",
    variable: str = "GROUPFLOW_TOKEN",
    default: str | None = "",
    dest: str = "token",
) -> None:
    """Adds the file of a token, which is in `variable` of the environment otherwise, else `default`."""
    parser.add_argument(
        option, action=_TokenFile, dest=dest, metavar="FILE", default=os.environ.get(variable) or default,
        help=f"file with {whose} (default: the token in ${variable})",
    )  # fmt: skip


def add_pin(parser: argparse.ArgumentParser, whose: str) -> None:
    """Adds what identifies the other side, which printed the fingerprint; or that nothing does."""
    parser.add_argument(
        "--tls-pin", metavar="HEX", default=os.environ.get("GROUPFLOW_TLS_PIN"),
        help=f"fingerprint of the certificate, printed by {whose} (default: $GROUPFLOW_TLS_PIN)",
    )  # fmt: skip
    plain = "do not encrypt: token and data can be read on the way"
    parser.add_argument("--plain", action="store_true", help=plain)


def certificate(args: Namespace) -> tuple[Path, Path] | None:
    """The named certificate and its key. Raises CommandError where one of them is missing."""
    if (args.tls_cert is None) != (args.tls_key is None):
        raise CommandError("--tls-cert and --tls-key go together: name both, or neither", USAGE)
    return (args.tls_cert, args.tls_key) if args.tls_cert else None


def add_controller_argument(parser: argparse.ArgumentParser) -> None:
    """Adds the controller at which a process registers, and which may set its bound."""
    parser.add_argument(
        "--controller", type=url, metavar="URL",
        help="API of a controller that lists this process and may set its bound; the token of agents in"
        " $GROUPFLOW_AGENT_TOKEN (default: none)",
    )  # fmt: skip


def or_none(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """The same type for argparse, which also takes the word `none`."""
    return lambda text: text if text == "none" else parse(text)


def options(kind: type[Options], args: Namespace, **more: Any) -> Options:
    """Options whose fields have the names of arguments of the command line; `more` overrides those."""
    given = vars(args) | more
    return kind(**{each.name: given[each.name] for each in fields(kind) if each.name in given})
