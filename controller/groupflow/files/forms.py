"""The base of the readers of YAML files: strict YAML, and refusals of one line that name file, key and cure.

Every refusal is `FILE: KEY: what is wrong; what to write instead`. A `Form` is what a mapping in a file may
have: the description of a field is what to write there, for the refusal and for editors (JSON schema). The
form of a dataclass is made of the annotations of its fields (`groupflow.model.fields`).
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Never, Self, TypeVar, Union, cast, get_args, get_origin

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from groupflow.errors import Error, Kind, reason
from groupflow.model.fields import FLAT, InFile, Range, Written

_REFUSED = "refused"
"""the type of pydantic's errors that are in our words"""
_PROBLEMS = {
    "missing": "missing",
    "dict_type": "not a mapping",
    **dict.fromkeys(("list_type", "is_instance_of", "sequence_str", "tuple_type"), "not a list"),
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
        return Path(path).read_bytes().decode()
    except OSError as problem:
        raise error(f"{path}: {reason(problem)}; name a file that can be read") from None
    except UnicodeDecodeError as problem:
        if problem.object.startswith(GZIP):
            raise error(f"{path}: compressed, as recordings are; run `groupflow net play {path}`") from None
        raise error(f"{path}: not UTF-8 text; write YAML in UTF-8") from None


GZIP = b"\x1f\x8b"
"""the first bytes of a recording"""
_KINDS: tuple[tuple[str, str, frozenset[str]], ...] = (
    ("sweep", "groupflow sim sweep", frozenset({"scenario"})),
    ("scenario", "groupflow sim run", frozenset({"duration"})),
    ("list of clients", "groupflow gather serve --clients", frozenset({"clients"})),
    ("scenario", "groupflow sim run", frozenset({"traffic"})),
    ("scenario", "groupflow sim run", frozenset({"sessions"})),
    ("topology", "groupflow net up", frozenset({"switches", "hosts"})),
)
"""files of groupflow: what each is, the command that takes it, and keys that none of the following has"""


def refuse_other(kind: str, value: object, source: str) -> None:
    """Raises Refused for the content of a file of another kind, with the command that takes it."""
    keys = names(value)
    for other, command, own in _KINDS:
        if own <= keys:
            if other != kind:
                raise Refused(f"a {other}, no {kind}; run `{command} {source}`")
            return


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
        fields = _keys(cls)
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


def _keys(form: type[Form]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in form.model_fields.items()}


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
_T = TypeVar("_T")


def _in_a_file(model: type) -> Iterator[tuple[str, object, Any, tuple[object, ...]]]:
    """The fields that a file has: name, default, type and annotations."""
    for field in fields(model):
        if get_origin(field.type) is Annotated:
            kind, *notes = get_args(field.type)
            yield field.name, ... if field.default is MISSING else field.default, kind, tuple(notes)


def _note(notes: tuple[object, ...], kind: type[_T]) -> _T | None:
    return next((note for note in notes if isinstance(note, kind)), None)


@cache
def form_of(model: type, base: type[_F]) -> type[_F]:
    """The form of a mapping that has the keys of a dataclass, beside those of `base`."""
    own: dict[str, Any] = {}
    for name, otherwise, kind, notes in _in_a_file(model):
        if FLAT in notes:
            base = form_of(kind, base)
            continue
        file, written, bounds = _note(notes, InFile) or InFile(), _note(notes, Written), _note(notes, Range)
        rest = [note for note in notes if not isinstance(note, InFile)]
        if otherwise is None and not file.null:
            kind = Union[tuple(each for each in get_args(kind) if each is not NoneType)]  # noqa: UP007
            rest.append(GIVEN)
        field = Field(
            file.otherwise if otherwise is ... else otherwise,
            alias=file.key or None,
            description=file.cure or (bounds.cure if bounds else None),
            json_schema_extra=partial(_show_default, written),
        )
        if written is None:
            kind = _type_in_a_file(kind)
        own[name] = (Annotated[kind, *rest] if rest else kind, field)
    return create_model(f"{model.__name__}Form", __base__=base, __doc__=model.__doc__, **own)


def _show_default(written: Written | None, schema: dict[str, Any]) -> None:
    """Gives a schema its default as a file writes it; none, where a file cannot write it."""
    if schema.get("default", ...) is None:
        del schema["default"]
    if written is None or "default" not in schema:
        return
    text = written.show(schema.pop("default"))
    with suppress(ValueError):
        written.parse(text)
        schema["default"] = text


def _type_in_a_file(kind: Any) -> Any:
    """The type that a file has in place of a value's: a list for a tuple, a mapping for a dataclass."""
    if get_origin(kind) is UnionType:
        one, other = map(_type_in_a_file, get_args(kind))
        return one | other
    if get_origin(kind) is tuple:
        return list[_type_in_a_file(get_args(kind)[0])]
    return Annotated[kind, reads(cast(type[object], kind))] if is_dataclass(kind) else kind


def reads(model: type[object], short: Any = Never) -> PlainValidator:
    """Makes a value of a mapping; `short` is the type of its short form, which is made a mapping before."""
    form = form_of(model, Form)

    def read(of: object) -> object:
        return of if isinstance(of, model) else value_of(model, form.model_validate(of))

    return PlainValidator(read, json_schema_input_type=form if short is Never else form | short)


def value_of(model: type[_T], form: Form, **more: Any) -> _T:
    """The value whose fields a form has, but for those in `more`."""
    values: dict[str, object] = {}
    for name, _, kind, notes in _in_a_file(model):
        if name not in more:
            value: object = value_of(kind, form) if FLAT in notes else getattr(form, name)
            values[name] = tuple(cast(list[object], value)) if isinstance(value, list) else value
    return model(**values, **more)


def keys_in_file(model: type, value: object) -> dict[str, object]:
    """A value as a mapping that `form_of` reads back, without the keys whose default is nothing."""
    found: dict[str, object] = {}
    for name, otherwise, kind, notes in _in_a_file(model):
        of = getattr(value, name)
        if FLAT in notes:
            found |= keys_in_file(kind, of)
        elif otherwise not in (None, ()) or of != otherwise:
            found[(_note(notes, InFile) or InFile()).key or name] = _written(kind, _note(notes, Written), of)
    return found


def _written(kind: Any, written: Written | None, value: object) -> object:
    if isinstance(value, tuple):
        (inner, _) = get_args(kind)
        return [_written(inner, written, each) for each in cast(tuple[object, ...], value)]
    return keys_in_file(kind, value) if is_dataclass(value) else written.show(value) if written else value


def validate(form: type[_F], value: object) -> _F:
    """Raises Refused."""
    try:
        return form.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
    if not first["loc"]:
        what = f"the file is empty; its keys are {', '.join(_keys(form))}" if value is None else first["msg"]
        raise Refused(what)
    places = (f"[{place}]" if isinstance(place, int) else f".{place}" for place in first["loc"])
    refuse("".join(places).removesuffix(".[key]").removeprefix("."), first["msg"])


def names(value: object) -> set[object]:
    """The keys of a mapping that YAML made; empty for all else."""
    return set(cast(dict[object, object], value)) if isinstance(value, dict) else set()


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
