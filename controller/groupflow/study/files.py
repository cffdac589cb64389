"""Files of results: each is whole or not there, so that an interrupted run leaves no half of one."""

import csv
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from groupflow.study.errors import StudyError

Cell: TypeAlias = str | int | float | None
Row: TypeAlias = Mapping[str, Cell]


@contextmanager
def whole(path: Path) -> Generator[Path]:
    """Gives the path to write to; the file takes its name at the end of the block."""
    part = path.with_name(f".{path.name}.part")
    yield part
    part.replace(path)


@contextmanager
def into(folder: Path) -> Generator[None]:
    """The block writes into that folder. Raises StudyError where writing fails."""
    try:
        yield
    except OSError as error:
        where = Path(str(error.filename or folder))
        if not (where.is_relative_to(folder) or folder.is_relative_to(where)):
            raise
        raise StudyError(f"{where}: {error.strerror or error}; choose another --out") from error


def write_json(path: Path, content: object) -> None:
    with whole(path) as part:
        part.write_text(json.dumps(content, indent=2) + "\n")


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """A CSV file. The first row's names are the columns; None is an empty cell."""
    with whole(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, fieldnames=list(rows[0]))
        table.writeheader()
        table.writerows(rows)
