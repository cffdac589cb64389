"""One measured figure."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """What was measured, its value and unit, and how it is to be read."""

    name: str
    value: float
    unit: str
    note: str
