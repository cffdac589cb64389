"""From typed functions to commands: argparse's arguments are made from annotations, never written by hand.

A positional parameter of the function is an argument, a keyword-only one an option. A parameter whose type is
a model (a dataclass) stands for an option for each of its fields that has a `Help`. Types, bounds, help and
defaults come from the annotations (`groupflow.model.fields`).

argparse is Python's own; typer, tyro and cyclopts were measured: each takes longer to start than groupflow's
whole command (docs/reference/dependencies.md).
"""

import argparse
import os
from argparse import ArgumentTypeError
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from groupflow.errors import InvalidError, UsageError, reason
from groupflow.model.fields import Help, Hint, Key, Range, Written, taken_apart
from groupflow.model.values import Name, Secret

REQUIRED: Any = object()
"""the default of an argument that must be given"""

NONE = "none"
"""the word that clears a field"""


@dataclass(frozen=True)
class Given:
    """Annotates a dict: the given fields of a model, by their keys, for a request to the REST API."""

    model: Any
    clearable: tuple[str, ...] = ()
    """fields that the word `none` clears"""
    required: tuple[str, ...] = ()
    changes: bool = False
    """a field that is not given keeps its value, so its default is not shown"""
    title: str = ""
    """of the options' own part of the help"""


def add_arguments(parser: argparse.ArgumentParser, function: Callable[..., Any], hidden: type[Any]) -> None:
    """Adds the arguments of a function. A parameter of the type `hidden` is none: `call` gives it."""
    hints = get_type_hints(function, include_extras=True)
    for parameter in signature(function).parameters.values():
        hint = taken_apart(hints[parameter.name])
        default = REQUIRED if parameter.default is Parameter.empty else parameter.default
        if hint.kind is hidden:
            continue
        given: Given | None = hint.note(Given)
        if given:
            _add_given(parser, given, hints)
        elif is_dataclass(hint.kind):
            add_model(parser, hint.kind, [name for name, _, _ in options_of(hint.kind) if name not in hints])
        elif parameter.kind is Parameter.KEYWORD_ONLY:
            _add_option(parser, parameter.name, hint, default)
        else:
            _add_positional(parser, parameter.name, hint, default)
    parser.usage = _usage(parser)


def _usage(parser: argparse.ArgumentParser) -> str:
    """The usage line: the arguments and the options that must be given."""
    return " ".join((parser.prog, "[options]", *_usage_words(parser)))


def _usage_words(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if not action.option_strings:
            more = "..." if action.nargs in ("+", "*", argparse.REMAINDER) else ""
            yield f"[{action.metavar}{more}]" if action.nargs in ("?", "*") else f"{action.metavar}{more}"
        elif action.required:
            yield f"{action.option_strings[0]} {action.metavar}"


def add_model(parser: argparse.ArgumentParser, model: Any, names: Collection[str]) -> None:
    """Adds an option for each of these fields of a model."""
    for name, hint, default in options_of(model):
        if name in names:
            _add_option(parser, name, hint, default)
    parser.usage = _usage(parser)


def filled(model: Any, given: Mapping[str, Any]) -> Any:
    """The model with the parsed values of its fields. Raises UsageError where a token is missing."""
    values: dict[str, Any] = {}
    for each in fields(model):
        value = given.get(each.name)
        if value is not None:
            values[each.name] = _settled(value)
        elif each.default is MISSING and each.default_factory is MISSING and each.name in given:
            raise UsageError(
                f"the {each.name} is missing: name its file with --token-file, or set $GROUPFLOW_TOKEN"
            )
    return model(**values)


def call(function: Callable[..., Any], given: Mapping[str, Any], hidden: Any) -> Any:
    """Calls a function with the parsed arguments."""
    hints = get_type_hints(function, include_extras=True)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in signature(function).parameters.values():
        hint = taken_apart(hints[parameter.name])
        kind, wanted = hint.kind, hint.note(Given)
        if kind is type(hidden):
            value = hidden
        elif wanted:
            value = _body(wanted, given, hints)
        elif is_dataclass(kind):
            value = filled(kind, given)
        else:
            value = given[parameter.name]
            value = parameter.default if value is None else _settled(value)
        if parameter.kind is Parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            positional.append(value)
    return function(*positional, **named)


def _settled(value: Any) -> Any:
    """A parsed value; of an option that was repeated, all values."""
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


def options_of(model: Any) -> Iterator[tuple[str, Hint, Any]]:
    """Name, annotation and default of each field of a model that is an option."""
    hints = get_type_hints(model, include_extras=True)
    for each in fields(model):
        hint = taken_apart(hints[each.name])
        if hint.note(Help) is None:
            continue
        default = REQUIRED if each.default is MISSING else each.default
        if each.default_factory is not MISSING:
            default = each.default_factory()
        yield each.name, hint, default


def _add_given(command: argparse.ArgumentParser, given: Given, others: Mapping[str, Any]) -> None:
    parser: Any = command.add_argument_group(given.title) if given.title else command
    for name, hint, default in options_of(given.model):
        if name in others:
            continue
        if name in given.required:
            _add_option(parser, name, hint, REQUIRED)
            continue
        text = "" if given.changes else _shown(hint, default)
        note: Help = hint.note(Help)
        note = Help(note.text + text, note.placeholder)
        optional = Hint(hint.kind, (note, *(each for each in hint.notes if not isinstance(each, Help))), True)
        _add_option(parser, name, optional, None, clearable=name in given.clearable)


def _body(given: Given, values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """The given fields by their keys, with None for the word `none`."""
    found: dict[str, Any] = {}
    for name, hint, _ in options_of(given.model):
        value = None if name in others else values.get(name)
        if value is not None:
            key = hint.note(Key)
            found[key.name if key else name] = None if value == NONE and name in given.clearable else value
    return found


def _add_option(parser: Any, name: str, hint: Hint, default: Any, *, clearable: bool = False) -> None:
    secret: Secret | None = hint.note(Secret)
    if secret:
        found = os.environ.get(secret.variable) or (None if default is REQUIRED else default)
        more = _text(hint, None, f"the token in ${secret.variable}")
        parser.add_argument(
            secret.option, dest=name, default=found, metavar="FILE", help=more, action=_TokenFile
        )
        return
    renamed = hint.note(Name)
    option = renamed.option if renamed else f"--{name.replace('_', '-')}"
    if hint.kind is bool:
        action = argparse.BooleanOptionalAction if default or hint.optional else "store_true"
        parser.add_argument(option, dest=name, default=default, action=action, help=_text(hint, None))
        return
    settings = _settings(hint, default)
    if clearable:
        parse = settings["type"]

        def read(text: str) -> Any:
            return NONE if text == NONE else parse(text)

        settings["type"] = read
    several = get_origin(hint.kind) is tuple and hint.note(Written) is None
    if several and get_args(hint.kind)[-1] is Ellipsis:
        settings |= {"action": "append", "default": None}
        settings["help"] += "; may be repeated"
    elif several:
        settings["nargs"] = len(get_args(hint.kind))
    required = default is REQUIRED
    parser.add_argument(option, dest=name, required=required, **settings)


def _add_positional(parser: argparse.ArgumentParser, name: str, hint: Hint, default: Any) -> None:
    settings = _settings(hint, default)
    settings.setdefault("metavar", name.upper())
    if "choices" in settings:
        settings["help"] += f": {', '.join(settings['choices'])}"
    if get_origin(hint.kind) is tuple and hint.note(Written) is None:
        note = hint.note(Help)
        rest = argparse.REMAINDER if note.placeholder == "COMMAND" else "+" if default is REQUIRED else "*"
        settings["nargs"] = rest
    elif default is not REQUIRED:
        settings["nargs"] = "?"
    parser.add_argument(name, **settings)


def _settings(hint: Hint, default: Any) -> dict[str, Any]:
    """The settings of an argument that follow from its type, unit and bounds."""
    note, written, kind = hint.note(Help), hint.note(Written), hint.kind
    if written is None and get_origin(kind) is tuple:
        kind = taken_apart(get_args(kind)[0])
        return _settings(Hint(kind.kind, (*hint.notes, *kind.notes), hint.optional), default)
    settings: dict[str, Any] = {"help": _text(hint, default)}
    if default is not REQUIRED:
        settings["default"] = default
    placeholder = note.placeholder if note else None
    if written is not None:
        bounded = kind in (int, float)
        settings["type"] = _value(_within(hint, written.parse, written.cure) if bounded else written.parse)
        placeholder = placeholder or written.placeholder
    elif get_origin(kind) is Literal:
        settings["choices"] = get_args(kind)
    elif kind in (int, float):
        settings["type"] = _value(_within(hint, kind, "a whole number" if kind is int else "a number"))
        placeholder = placeholder or "N"
    else:
        settings["type"] = kind
        placeholder = placeholder or ("FILE" if kind is Path else "NAME")
    if placeholder is not None:
        settings["metavar"] = placeholder
    return settings


def _text(hint: Hint, default: Any, otherwise: str | None = None) -> str:
    """The help of an argument, with its default."""
    note: Help | None = hint.note(Help)
    text = note.text if note else ""
    if otherwise:
        text += f" (default: {otherwise})"
    elif "(default" not in text:
        text += _shown(hint, default)
    return text.replace("%", "%%")


def _shown(hint: Hint, default: Any) -> str:
    if default in (None, REQUIRED, (), "") or isinstance(default, bool):
        return ""
    written = hint.note(Written)
    shown = (
        written.show(default) if written else f"{default:g}" if isinstance(default, float) else str(default)
    )
    return f" (default: {shown})"


def _within(hint: Hint, read: Callable[[str], Any], what: str) -> Callable[[str], Any]:
    """Reads a value, and refuses it out of its range."""
    bounds: Range | None = hint.note(Range)
    written: Written | None = hint.note(Written)
    show = written.show if written else str

    def parse(text: str) -> Any:
        try:
            value = read(text)
        except ValueError:
            if written:
                raise
            value = None
        if value is not None and (bounds is None or bounds.low <= value <= (bounds.high or value)):
            return value
        span = f" from {show(bounds.low)}" if bounds else ""
        span += f" to {show(bounds.high)}" if bounds and bounds.high else " on" if span else ""
        raise ValueError(f"{text!r} will not do; write {what}{span}")

    return parse


def _value(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """A `type` for argparse, which refuses a text in the words of the ValueError that `parse` raises."""

    def read(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from None

    return read


class _TokenFile(argparse.Action):
    """Takes a token from a file: every user can read a command line."""

    def __call__(self, _: Any, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        setattr(namespace, self.dest, token_in(Path(values), option or ""))


def token_in(file: Path, option: str = "--token-file") -> str:
    """Raises InvalidError."""
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise InvalidError(f"{option} {file}: {reason(error)}; it takes a file, no token") from None
    if not text:
        raise InvalidError(f"{option} {file}: the file is empty; write the token into it")
    if len(text.split()) > 1:
        raise InvalidError(f"{option} {file}: it has several words, so it is no token; name the token's file")
    return text


def one_of(**given: Any) -> str:
    """The name of the one option that is given. Raises UsageError where none is, or two are."""
    options = {name: f"--{name.replace('_', '-')}" for name in given}
    found = [name for name, value in given.items() if value not in (None, False, ())]
    if not found:
        raise UsageError(f"{' or '.join(options.values())} is missing; give one of them")
    if len(found) > 1:
        raise UsageError(f"{options[found[0]]} and {options[found[1]]} exclude each other; leave one out")
    return found[0]
