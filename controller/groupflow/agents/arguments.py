"""Arguments of Python programs: checked when they are given, and named in errors as programs name them."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from groupflow.agents.errors import ClientError
from groupflow.agents.options import RoleOptions
from groupflow.errors import InvalidError
from groupflow.model.fields import Written, plain, taken_apart
from groupflow.model.values import TOKEN_RULE, Secret, is_token

_T = TypeVar("_T", bound=RoleOptions)


class ArgumentError(ClientError, InvalidError):
    """An argument that cannot be used. The text names it."""


def checked(model: type[_T], names: Mapping[str, str] | None = None, **given: Any) -> _T:
    """The options with these values. A text may stand for a quantity: `rate="10mbit"`.

    `names`: of arguments that are not called as their fields. Raises ArgumentError.
    """
    if not (given["token"] or os.environ.get(Secret.variable)):
        raise ArgumentError(f"token: it is missing; pass token=, or set ${Secret.variable}")
    hints = get_type_hints(model, include_extras=True)
    called = names or {}
    values = {name: check(called.get(name, name), hints[name], of) for name, of in given.items()}
    if values["token"] and not is_token(values["token"]):
        raise ArgumentError(f"token: {TOKEN_RULE}")
    return model(**values)


def check(name: str, hint: Any, value: Any) -> Any:
    """The value, if it is one of the annotated type. Raises ArgumentError."""
    notes = taken_apart(hint).notes
    shown = "what was given" if any(isinstance(note, Secret) for note in notes) else repr(value)
    try:
        for note in notes:
            if isinstance(note, Written) and value is not None:
                value = _quantity(note, value)
        return TypeAdapter[Any](plain(hint)).validate_python(value, strict=True)
    except ValidationError as error:
        cure = error.errors()[0]["msg"].rpartition("should ")[2]
        why = f"{shown} will not do; it should {cure}"
    except ValueError as error:
        why = str(error)
    raise ArgumentError(f"{name}: {why}")


def _quantity(note: Written, value: object) -> object:
    """From a text that people write, or the number that programs have."""
    if isinstance(value, str):
        return note.parse(value)
    try:
        note.parse(note.show(value))
    except (TypeError, ValueError, ArithmeticError):
        raise ValueError(f"{value!r} will not do; write {note.cure}") from None
    return value


def in_python(options: RoleOptions, names: Mapping[str, str]) -> Callable[[str], str]:
    """Rewrites gfagent's errors: what they say of its flags is said of this program's arguments."""
    arguments = {"token-file": "token"}
    for each in fields(options):
        flag = each.metadata.get("flag", each.name.replace("_", "-"))
        arguments[str(flag)] = names.get(each.name, each.name)

    def rewritten(found: re.Match[str]) -> str:
        return f"{arguments[found[1]]}=" if found[1] in arguments else found[0]

    def words(text: str) -> str:
        named = re.sub(r"(?:a )?--([a-z][a-z-]*)", rewritten, text)
        return re.sub(", or pass --[a-z-]+", "", named)  # what only the command line has

    return words
