"""One measured figure."""

from typing import NamedTuple


class Figure(NamedTuple):
    """A measured quantity: its name, value and unit, and a note on how to read it."""

    name: str
    value: float
    unit: str
    note: str
