"""Arguments of Python programs: checked when they are given, and named in errors as programs name them."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from groupflow.agents.errors import ClientError
from groupflow.agents.options import RoleOptions
from groupflow.errors import InvalidError
from groupflow.model.fields import Length, Range, Written
from groupflow.model.values import Secret

_T = TypeVar("_T", bound=RoleOptions)


class ArgumentError(ClientError, InvalidError):
    """An argument that cannot be used. The text names it."""


def checked(model: type[_T], **given: Any) -> _T:
    """The options with these values. A text may stand for a quantity: `rate="10mbit"`. Raises
    ArgumentError."""
    hints = get_type_hints(model, include_extras=True)
    options = model(**{name: check(name, hints[name], value) for name, value in given.items()})
    if not (options.token or os.environ.get(Secret.variable)):
        raise ArgumentError(f"token: it is missing; pass token=, or set ${Secret.variable}")
    return options


def check(name: str, hint: Any, value: object) -> Any:
    """The value, if it is one of the annotated type. Raises ArgumentError that names the argument."""
    try:
        return _fit(hint, value)
    except ValueError as error:
        raise ArgumentError(f"{name}: {error}") from None


def in_python(options: RoleOptions, names: Mapping[str, str]) -> Callable[[str], str]:
    """Rewrites gfagent's errors: what they say of its flags is said of this program's arguments.

    `names`: of arguments that are not called as their fields.
    """
    arguments = {"token-file": "token"}
    for each in fields(options):
        flag = each.metadata.get("flag", each.name.replace("_", "-"))
        arguments[str(flag)] = names.get(each.name, each.name)

    def rewritten(found: re.Match[str]) -> str:
        return f"{arguments[found[1]]}=" if found[1] in arguments else found[0]

    return lambda text: re.sub(r"(?:a )?--([a-z][a-z-]*)", rewritten, text)


def _fit(hint: Any, value: object) -> object:
    kind, parts = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return _annotated(parts[0], parts[1:], value)
    if kind in (Union, UnionType):
        if value is None and NoneType in parts:
            return None
        (other,) = (part for part in parts if part is not NoneType)
        return _fit(other, value)
    if kind is Literal:
        if value not in parts:
            raise _refused(value, f"one of {', '.join(map(repr, parts))}")
    elif hint in _KINDS:
        kinds, cure = _KINDS[hint]
        if not isinstance(value, kinds) or isinstance(value, bool) != (hint is bool):
            raise _refused(value, cure)
    return value


_KINDS: dict[Any, tuple[Any, str]] = {
    int: (int, "a whole number"),
    float: (int | float, "a number"),
    bool: (bool, "True or False"),
    str: (str, "a text"),
}


def _annotated(hint: Any, notes: tuple[object, ...], value: object) -> object:
    for note in notes:
        if isinstance(note, Secret) and not isinstance(value, str):
            raise ValueError("it is a secret text")  # which no error shows
        if isinstance(note, Written) and value is not None:
            value = _written(note, value)
    value = _fit(hint, value)
    for note in notes:
        if isinstance(note, Range) and value is not None:
            number = cast(float, value)
            if not note.low <= number or not (note.high is None or number <= note.high):
                raise _refused(value, note.cure)
        if isinstance(note, Length) and not note.low <= len(str(value)) <= note.high:
            raise _refused(value, f"{note.low} to {note.high} characters")
    return value


def _written(note: Written, value: object) -> object:
    """A quantity, from a text that people write, or as the number that programs have."""
    if isinstance(value, str):
        return note.parse(value)
    try:
        note.parse(note.show(value))
    except (TypeError, ValueError, ArithmeticError):
        raise _refused(value, note.cure) from None
    return value


def _refused(value: object, cure: str) -> ValueError:
    return ValueError(f"{value!r} will not do; write {cure}")
