"""The JSON events of gfagent, parsed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from groupflow.errors import InvalidError


class EventError(InvalidError):
    """A line that is not an event of gfagent. The text names the field that is wrong."""


@dataclass(frozen=True)
class Event:
    name: str
    time: float
    """Unix seconds"""
    fields: Mapping[str, object]

    def json(self) -> str:
        """The event as one line, as gfagent wrote it."""
        return json.dumps(dict(self.fields))

    def integer(self, field: str) -> int:
        return cast(int, self._of(field, int, "integer"))

    def number(self, field: str) -> float:
        return float(cast(float, self._of(field, int | float, "number")))

    def measured(self, field: str) -> float | None:
        """A number; None: it was not measured."""
        return None if self.fields.get(field, "") is None else self.number(field)

    def text(self, field: str) -> str:
        return cast(str, self._of(field, str, "text"))

    def texts(self, field: str) -> tuple[str, ...]:
        items = cast(list[object], self._of(field, list, "list of texts", []))
        if not all(isinstance(item, str) for item in items):
            raise EventError(f"{self.name}.{field}: {items!r} is no list of texts")
        return tuple(cast(list[str], items))

    def _of(self, field: str, kind: Any, called: str, default: object = None) -> object:
        value = self.fields.get(field, default)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise EventError(f"{self.name}.{field}: {value!r} is no {called}")
        return value


class Joined(Event):
    """This member is admitted."""

    @property
    def member(self) -> int:
        """Its number in the session."""
        return self.integer("member")


class Progress(Event):
    """The bytes so far, twice a second."""

    @property
    def bytes(self) -> int:
        """Of a sender: those that every receiver has."""
        return self.integer("bytes" if "bytes" in self.fields else "acknowledged")

    @property
    def total(self) -> int | None:
        """Bytes of the whole stream; None: not known."""
        return None if self.fields.get("total_bytes") is None else self.integer("total_bytes")

    @property
    def goodput_bps(self) -> float | None:
        """None: not measured."""
        return self.number("goodput_bps") if "goodput_bps" in self.fields else None


class Complete(Progress):
    """The end of a stream."""

    @property
    def seconds(self) -> float:
        return self.number("seconds")

    @property
    def lost(self) -> tuple[str, ...]:
        """Names of the members that do not have the whole stream."""
        return self.texts("lost")


_TYPES: dict[str, type[Event]] = {"joined": Joined, "progress": Progress, "complete": Complete}
"""of the events that have one"""


def parse_event(line: str | bytes) -> Event:
    """The event in one line of gfagent's output. Raises EventError."""
    try:
        value = cast(object, json.loads(line))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise EventError(f"not JSON: {line[:80]!r}") from None
    if not isinstance(value, dict):
        raise EventError(f"not an object: {line[:80]!r}")
    fields = cast(dict[str, object], value)
    name, time = fields.get("event"), fields.get("time")
    if not isinstance(name, str):
        raise EventError(f"event: {name!r} is no name")
    if not isinstance(time, int | float) or isinstance(time, bool):
        raise EventError(f"{name}.time: {time!r} is no time")
    return _TYPES.get(name, Event)(name, float(time), MappingProxyType(fields))
