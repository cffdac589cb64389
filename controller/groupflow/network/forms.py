"""The base of the readers of YAML files: strict YAML, and refusals of one line with file, key and cure.

Every refusal is `FILE: KEY: what is wrong; what to write instead`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Never, TypeAlias, TypeVar, cast

import yaml

from groupflow.network.units import UnitError

Map: TypeAlias = Mapping[str, object]
_T = TypeVar("_T")


class _UniqueKeys(yaml.SafeLoader):
    """YAML allows a repeated key and keeps the last: a repeated name would silently lose a node."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> object:
    seen: set[object] = set()
    for key_node, _ in node.value:
        key = cast(object, loader.construct_object(key_node, deep=True))  # pyright: ignore[reportUnknownMemberType]
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"duplicate name {key!r}", key_node.start_mark
            )
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


@dataclass(frozen=True)
class FormReader:
    """Takes values out of a file's mappings, or refuses them."""

    source: str
    error: type[ValueError]
    """type of the errors raised"""

    def yaml(self, text: str) -> object:
        try:
            return cast(object, yaml.load(text, Loader=_UniqueKeys))
        except yaml.MarkedYAMLError as error:
            line = f"line {error.problem_mark.line + 1}" if error.problem_mark else "somewhere"
            cure = "; rename one" if (error.problem or "").startswith("duplicate") else "; write valid YAML"
            self.refuse(line, f"{error.problem}{cure}")
        except yaml.YAMLError as error:
            self.refuse("text", f"{str(error).splitlines()[0]}; write valid YAML")

    def map(self, value: object, key: str, allowed: tuple[str, ...] | None) -> Map:
        """A mapping with string keys, all of them in `allowed` unless that is None."""
        if not isinstance(value, dict):
            self.refuse(key or "text", "not a mapping; write `key: value` pairs")
        for name in cast(dict[object, object], value):
            if not isinstance(name, str):
                self.refuse(key or "text", f"{name!r} is no name; write it as text")
            if allowed is not None and name not in allowed:
                where = f"{key}.{name}" if key else name
                self.refuse(where, f"unknown key; known are {', '.join(allowed)}")
        return cast(Map, value)

    def integer(self, form: Map, key: str, field: str, low: int, high: int) -> int:
        value = form.get(field)
        where = f"{key}.{field}" if key else field
        if value is None:
            self.refuse(where, f"missing; write a number from {low} to {high}")
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.refuse(where, f"{value!r} will not do; write a number from {low} to {high}")
        return value

    def text(self, form: Map, field: str, otherwise: str) -> str:
        value = form.get(field, otherwise)
        if not isinstance(value, str):
            self.refuse(field, f"{value!r} is no text; write a word or a sentence")
        return value

    def quantity(self, form: Map, key: str, field: str, parse: Callable[[object], _T], otherwise: _T) -> _T:
        """A value with a unit, read by `parse` (raises UnitError); `otherwise` where it is missing."""
        if field not in form:
            return otherwise
        try:
            return parse(form[field])
        except UnitError as error:
            self.refuse(f"{key}.{field}" if key else field, str(error))

    def refuse(self, key: str, problem: str) -> Never:
        raise self.error(f"{self.source}: {key}: {problem}")
