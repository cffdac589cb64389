"""The table in docs/validation.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from experiments.validate.compare import Row

_DOCUMENT = Path(__file__).parents[2] / "docs/validation.md"

HEADINGS = (
    "scenario",
    "TCP",
    "flow",
    "packets acknowledged, ns-2",
    "groupflow",
    "dropped, ns-2",
    "groupflow",
    "timeouts",
    "mean window, ns-2",
    "groupflow",
    "windows apart",
    "samples equal",
)


def cells(row: Row) -> list[str]:
    """A row of the table."""
    theirs, ours = row.ns2.last, row.ours.last
    return [
        row.scenario.title,
        row.scenario.flows[row.flow].variant,
        str(row.flow + 1),
        str(theirs.acked),
        _with_difference(ours.acked, row.throughput),
        str(theirs.dropped),
        _with_difference(ours.dropped, row.dropped),
        f"{theirs.timeouts} / {ours.timeouts}",
        f"{row.ns2.window:.1f}",
        f"{row.ours.window:.1f}",
        f"{row.window:.2f} %",
        f"{row.equal} of {len(row.ns2.samples)}",
    ]


def write(table: Sequence[Row], ns2_seconds: float, our_seconds: float) -> None:
    """Replaces what the document has between its markers."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in table]
    document = _replaced(_DOCUMENT.read_text(), "table", "\n".join(lines))
    cost = (
        f"ns-2: {ns2_seconds:.1f} s of CPU; groupflow's TCP on the exact line: {our_seconds:.1f} s, with samples."
    )
    _DOCUMENT.write_text(_replaced(document, "cost", cost))


def _replaced(document: str, name: str, text: str) -> str:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(document):
        raise SystemExit(f"validate: {_DOCUMENT.name} has no place for the {name}: {begin} ... {end}")
    return pattern.sub(lambda _: f"{begin}\n{text}\n{end}", document)


def _with_difference(value: int, percent: float) -> str:
    return str(value) if percent == 0 else f"{value} ({percent:+.2f} %)"
