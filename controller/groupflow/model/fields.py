"""Help, unit and bounds of a model's fields.

A model is a frozen dataclass whose fields are `Annotated` with these. Files and the REST API (pydantic), and
the command line (`cli.frame`), take them from there. This module imports neither: a command starts without
pydantic.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from groupflow import units

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


@dataclass(frozen=True)
class Help:
    """Says what a field is: the help of an option, and the description in a JSON schema."""

    text: str
    placeholder: str | None = None
    """what stands for a value in the help: RATE; None: by the type"""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], Any]) -> dict[str, Any]:
        return {**handler(schema), "description": self.text}


@dataclass(frozen=True, eq=False)
class Written:
    """Annotates a value that `parse` reads, which raises ValueError(what is wrong; what to write instead).

    In the JSON of the store a quantity is a plain number.
    """

    parse: Callable[[object], object]
    cure: str
    schema: Mapping[str, Any]
    """JSON schema of what is written"""
    placeholder: str = "VALUE"
    """what stands for a value in the help of an option"""
    show: Callable[[Any], str] = str
    """a value as it is written"""

    def __get_pydantic_core_schema__(
        self, source: object, handler: "Callable[[object], CoreSchema]"
    ) -> "CoreSchema":
        from pydantic_core import core_schema

        value = handler(source)
        written = core_schema.no_info_before_validator_function(self.parse, value)
        if _inner(value)["type"] != "int":
            return written
        return core_schema.json_or_python_schema(json_schema=value, python_schema=written)  # a store's number

    def __get_pydantic_json_schema__(self, schema: Any, _: object) -> dict[str, Any]:
        while "schema" in schema and schema["type"] != "nullable":
            schema = schema["schema"]
        if schema["type"] != "nullable":
            return {**self.schema, "description": self.cure}
        return {"anyOf": [self.schema, {"type": "null"}], "description": self.cure}


@dataclass(frozen=True)
class InFile:
    """How a YAML file has a field."""

    key: str = ""
    """the field's name there; empty: as here"""
    cure: str = ""
    """what to write there; empty: as the other annotations say"""
    otherwise: object = ...
    """default there, where the field has none"""
    null: bool = False
    """whether the key may stand without a value"""


FLAT = InFile("*")
"""of a field whose own fields are keys beside the others"""
FLAG = InFile(cure="true or false")


@dataclass(frozen=True)
class Key:
    """The field's name in the REST API, where the value is a plain number and the name has its unit."""

    name: str


def keys_of(model: type) -> dict[str, str]:
    """The keys of a model's fields in the REST API, by the fields' names."""
    hints = get_type_hints(model, include_extras=True)
    keys = {name: taken_apart(hint).note(Key) for name, hint in hints.items()}
    return {name: key.name if key else name for name, key in keys.items()}


def by_keys(model: type, value: object) -> dict[str, Any]:
    """The fields of a model's value by their keys in the REST API."""
    return {key: getattr(value, name) for name, key in keys_of(model).items()}


def plain(hint: Any, nest: Callable[[type], Any] = lambda model: model) -> Any:
    """The type where a quantity is its number; `nest` makes that of a model in a model."""
    if is_dataclass(hint):
        return nest(cast(type, hint))
    inner = get_args(hint)
    if get_origin(hint) is Annotated:
        base, *notes = inner
        if str not in (base, *get_args(base)):
            notes = [each for each in notes if not isinstance(each, Written)]
        return Annotated[plain(base, nest), *notes] if notes else plain(base, nest)
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(plain(each, nest) for each in inner)]  # noqa: UP007 (of types found at run time)
    return hint


@dataclass(frozen=True)
class Hint:
    """An annotation taken apart."""

    kind: Any
    """the type, without None"""
    notes: tuple[Any, ...]
    optional: bool

    def note(self, kind: type[Any]) -> Any:
        return next((each for each in self.notes if isinstance(each, kind)), None)


def taken_apart(annotation: Any) -> Hint:
    notes: list[Any] = []
    optional = False
    while True:
        origin, parts = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            annotation, *more = parts
            notes += more
        elif origin in (Union, UnionType) and type(None) in parts:
            rest = [each for each in parts if each is not type(None)]
            annotation, optional = rest[0] if len(rest) == 1 else Union[tuple(rest)], True  # noqa: UP007
        else:
            return Hint(annotation, tuple(notes), optional)


@dataclass(frozen=True)
class Range:
    """Bounds of a number, both included."""

    low: int
    high: int | None = None

    @property
    def cure(self) -> str:
        return f"a number from {self.low} " + ("on" if self.high is None else f"to {self.high}")

    def __get_pydantic_core_schema__(
        self, source: object, handler: "Callable[[object], Any]"
    ) -> "CoreSchema":
        bounds = {"ge": self.low} if self.high is None else {"ge": self.low, "le": self.high}
        return _bounded(handler(source), bounds)


@dataclass(frozen=True)
class Length:
    """Bounds of the length of a text or a list, both included."""

    low: int
    high: int

    def __get_pydantic_core_schema__(
        self, source: object, handler: "Callable[[object], Any]"
    ) -> "CoreSchema":
        return _bounded(handler(source), {"min_length": self.low, "max_length": self.high})


def _bounded(schema: Any, bounds: dict[str, int]) -> "CoreSchema":
    _inner(schema).update(bounds)
    return schema


def _inner(schema: Any) -> Any:
    return schema["schema"] if schema["type"] == "nullable" else schema


def text_like(pattern: str) -> dict[str, Any]:
    """JSON schema of a text."""
    return {"type": "string", "pattern": f"^({pattern})$"}


def number_or(low: int, high: float, pattern: str) -> dict[str, Any]:
    """JSON schema of a number (whole, if `high` is) or a text."""
    kind = "integer" if isinstance(high, int) else "number"
    return {"anyOf": [{"type": kind, "minimum": low, "maximum": high}, text_like(pattern)]}


def matching(pattern: str, cure: str, placeholder: str = "VALUE", *, secret: bool = False) -> Written:
    """Annotates a text of one form, or None. No error repeats a secret: it may be a token."""

    def parse(value: object) -> object:
        if value is not None and not (isinstance(value, str) and re.fullmatch(pattern, value)):
            shown = "what was given" if secret else repr(value)
            raise ValueError(f"{shown} will not do; write {cure}")
        return value

    return Written(parse, cure, text_like(pattern), placeholder)


_NUMBER = r"[0-9]+(\.[0-9]+)?"
_RATE = rf"{_NUMBER}[kKmMgG]?([bB][iI][tT]|[bB]/[sS])"
_LOSS = number_or(0, 1.0, r"[0-9]*\.?[0-9]+([eE]-?[0-9]+)?%?")
_COUNT = number_or(1, 1_000_000, "0*[1-9][0-9]*( ?packets?)?")
_TIME = number_or(0, 0, rf"{_NUMBER}[nNuUmM]?[sS]")
_ANY_RATE = text_like(f"{_RATE}|unlimited")
FINITE_RATE = Written(
    units.parse_finite_rate,
    "a rate with its unit, as in '1mbit'",
    text_like(_RATE),
    "RATE",
    units.format_rate,
)
DELAY = Written(units.parse_delay, "a time with its unit, as in '10ms'", _TIME, "TIME", units.format_delay)
LOSS = Written(
    units.parse_loss, "a fraction from 0 to 1 or a percentage like 1%", _LOSS, "LOSS", units.format_loss
)
PACKETS = Written(
    units.parse_packets,
    "a number of packets, as in '1500 packets'",
    _COUNT,
    "PACKETS",
    lambda count: f"{count} packets",
)
ANY_RATE = Written(units.parse_rate, "a rate or 'unlimited'", _ANY_RATE, "RATE", units.format_rate)

SIZE = Written(
    lambda value: units.parse_size(str(value)),
    "a size, as in '64MiB'",
    number_or(0, 1 << 40, r"[0-9]+(\.[0-9]+)? ?(B|bytes?|KiB|MiB|GiB)?"),
    "SIZE",
    units.write_size,
)

Port: TypeAlias = Annotated[int, Range(1, 65535)]
Size: TypeAlias = Annotated[int, SIZE]
"""bytes"""
Rate: TypeAlias = Annotated[int | None, ANY_RATE]
"""bit/s; None: unlimited"""
FiniteRate: TypeAlias = Annotated[int, FINITE_RATE]
"""bit/s"""
Delay: TypeAlias = Annotated[int, DELAY]
"""ns"""
Loss: TypeAlias = Annotated[int, LOSS]
"""parts per 10^9"""
Packets: TypeAlias = Annotated[int, PACKETS]
