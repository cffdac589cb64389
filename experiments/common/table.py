"""Rows as a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

Cell: TypeAlias = str | int | float | None
Row: TypeAlias = Mapping[str, Cell]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Writes the file whole or not at all. The first row's names are the columns; None is an empty cell."""
    part = path.with_name(f".{path.name}.part")
    with part.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, fieldnames=list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    part.replace(path)
