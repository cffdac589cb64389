"""The base of the readers of YAML files: strict YAML, and refusals of one line that name file, key and cure.

Every refusal is `FILE: KEY: what is wrong; what to write instead`. A `Form` is what a mapping in a file may
have: the description of a field is what to write there, for the refusal and for editors (JSON schema).
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Never, Self, TypeVar, cast

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from groupflow.errors import Error, Kind, reason
from groupflow.model.fields import Range, Written

_REFUSED = "refused"
"""the type of pydantic's errors that are in our words"""
_PROBLEMS = {
    "missing": "missing",
    "dict_type": "not a mapping",
    **dict.fromkeys(("list_type", "is_instance_of", "sequence_str"), "not a list"),
    "greater_than": "is zero",  # only `gt=0` is used, of what is never negative
}


class Refused(Error):  # noqa: N818 (no ValueError: pydantic would catch it in a validator)
    """`KEY: what is wrong; what to write instead`, of a file that `naming` names."""

    default = Kind.INVALID


def refuse(key: str, problem: str) -> Never:
    raise Refused(f"{key}: {problem}")


@contextmanager
def naming(source: str, error: type[ValueError]) -> Generator[None]:
    """Raises what is refused in the block as an `error` that names the file."""
    try:
        yield
    except Refused as refusal:
        raise error(f"{source}: {refusal}") from None


@contextmanager
def below(key: str) -> Generator[None]:
    """Raises what is refused in the block as refused below a key."""
    try:
        yield
    except Refused as refusal:
        raise Refused(f"{key}.{refusal}") from None


def load_text(path: str | Path, error: type[ValueError]) -> str:
    """The text of a YAML file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as problem:
        raise error(f"{path}: {reason(problem)}") from None
    except UnicodeDecodeError:
        raise error(f"{path}: not UTF-8 text; write YAML in UTF-8") from None


class _UniqueKeys(yaml.SafeLoader):
    """YAML allows a repeated key and keeps the last: here it would silently lose a node."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> object:
    seen: set[object] = set()
    for key_node, _ in node.value:
        key = cast(object, loader.construct_object(key_node, deep=True))  # pyright: ignore[reportUnknownMemberType]
        if key in seen:
            raise yaml.MarkedYAMLError(problem=f"duplicate name {key!r}", problem_mark=key_node.start_mark)
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def _given(value: object) -> object:
    if value is None:
        raise ValueError("nothing is written; write a value, or leave the key out")
    return value


GIVEN = BeforeValidator(_given)
"""refuses a key without a value, of a field that is None where the key is missing"""


def default(written: object, **more: Any) -> Any:
    """A field with a default, written as a file would have it."""
    return Field(written, validate_default=True, **more)


def number(low: int, high: int, otherwise: object = ...) -> Any:
    """A field from `low` to `high`."""
    return Field(otherwise, ge=low, le=high, description=f"a number from {low} to {high}")


def some(example: str) -> Any:
    """A field with one entry or more."""
    return Field(min_length=1, description=f"at least one, as in `{example}`")


class Form(BaseModel):
    """The keys of a mapping in a file. The description of each field is a phrase of what to write there."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="wrap")
    @classmethod
    def _in_words(cls, value: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Refuses unknown keys first, then the first field that is wrong, both in our words."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, dict):
            raise refusal("not a mapping; write `key: value` pairs")
        fields = {field.alias or name: field for name, field in cls.model_fields.items()}
        form = cast(dict[object, object], value)
        for key in form:
            if not isinstance(key, str):
                raise refusal(f"{key!r} is no name; write it as text")
            if key not in fields:
                raise refusal(f"unknown key; known are {', '.join(fields)}", key)
        try:
            return handler(value)
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"] == _REFUSED:
                raise
        key, *rest = first["loc"]
        given = first["input"] if rest else form.get(key)
        raise refusal(_in_words(first, str(key), fields[str(key)], given), key, *rest)


def refusal(text: str, *where: str | int) -> ValidationError:
    """An error for validators to raise; `where` is the key, below the validated value."""
    problem = PydanticCustomError(_REFUSED, "{text}", {"text": text})
    return ValidationError.from_exception_data("", [InitErrorDetails(type=problem, loc=where, input=None)])


def _in_words(error: ErrorDetails, key: str, field: FieldInfo, given: object) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        known = context["expected"].replace("'", "").replace(" or ", ", ")
        return f"unknown {key} {given!r}; known are {known}"
    shown = f"{given!r} " if field.repr else ""  # a secret is not
    problem = (
        "none given" if kind == "too_short" and not given else _PROBLEMS.get(kind, f"{shown}will not do")
    )
    cures = (each.cure for each in field.metadata if isinstance(each, Written | Range))
    return f"{problem}; write {field.description or next(cures)}"


_F = TypeVar("_F", bound=Form)


def validate(form: type[_F], value: object) -> _F:
    """Raises Refused."""
    try:
        return form.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
    places = (f"[{place}]" if isinstance(place, int) else f".{place}" for place in first["loc"])
    refuse("".join(places).removesuffix(".[key]").removeprefix(".") or "text", first["msg"])


def parse(form: type[_F], text: str) -> _F:
    """Reads YAML. Raises Refused."""
    return validate(form, read_yaml(text))


def read_yaml(text: str) -> object:
    """The content of a YAML text. Raises Refused."""
    try:
        return cast(object, yaml.load(text, Loader=_UniqueKeys))
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}" if error.problem_mark else "somewhere"
        cure = "; rename one" if (error.problem or "").startswith("duplicate") else "; write valid YAML"
        refuse(line, f"{error.problem}{cure}")
    except yaml.YAMLError as error:
        refuse("text", f"{str(error).splitlines()[0]}; write valid YAML")
