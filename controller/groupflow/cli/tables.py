"""Plain text tables, for terminals and for `awk`."""

from collections.abc import Iterable, Mapping, Sequence


def print_table(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> None:
    """Prints one line for each row, under a line of column names."""
    cells = [[_text(row.get(column)) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for line in ([column.upper() for column in columns], *cells):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def print_pairs(values: Mapping[str, object]) -> None:
    """Prints one line for each value."""
    width = max(map(len, values))
    for key, value in values.items():
        print(f"{key.ljust(width)}  {_text(value)}")


def _text(value: object) -> str:
    match value:
        case None | [] | "":
            return "-"
        case bool():
            return "yes" if value else "no"
        case list():
            return ",".join(map(str, value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case _:
            return str(value)
