"""Dataclasses from the JSON that the simulations in Rust return."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

Kind = TypeVar("Kind")


def known(kind: type[Kind], found: Mapping[str, Any]) -> Kind:
    """The dataclass from those of the fields that it has."""
    names = [field.name for field in fields(kind)]  # pyright: ignore[reportArgumentType]
    return kind(**{name: found[name] for name in names if name in found})
