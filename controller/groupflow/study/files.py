"""Files of results: each is whole or missing, so that an interrupted run leaves no partial file."""

import csv
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from groupflow.errors import kind_of, reason
from groupflow.study import StudyError

Cell: TypeAlias = str | int | float | None
Row: TypeAlias = Mapping[str, Cell]


@contextmanager
def whole(path: Path) -> Generator[Path]:
    """The path to write to; at the end of the block the file takes its final name."""
    part = path.with_name(f".{path.name}.part")
    yield part
    part.replace(path)


@contextmanager
def into(folder: Path) -> Generator[None]:
    """Turns an OSError of the block, which writes into that folder, into a StudyError."""
    try:
        yield
    except BrokenPipeError:  # of the output
        raise
    except OSError as error:
        where = Path(str(error.filename or folder))
        if not (where.is_relative_to(folder) or folder.is_relative_to(where)):
            raise
        raise StudyError(f"{where}: {reason(error)}; choose another --out", kind_of(error)) from error


def write_json(path: Path, content: object) -> None:
    with whole(path) as part:
        part.write_text(json.dumps(content, indent=2) + "\n")


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Writes a CSV file. The first row's names are the columns; None is an empty cell."""
    with whole(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, fieldnames=list(rows[0]))
        table.writeheader()
        table.writerows(rows)
