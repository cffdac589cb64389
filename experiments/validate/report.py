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
    "acked, ns-2",
    "dropped",
    "timeouts",
    "mean window",
    "exact line: samples equal",
    "first",
    "windows apart",
    "netsim: acked",
    "dropped",
    "timeouts",
    "mean window",
    "windows apart",
)


def cells(row: Row) -> list[str]:
    """A row of the table."""
    exact, ours = row.exact, row.netsim
    theirs = ours.ns2.last
    return [
        row.scenario.title,
        row.scenario.flows[row.flow].variant,
        str(row.flow + 1),
        str(theirs.acked),
        str(theirs.dropped),
        str(theirs.timeouts),
        f"{ours.ns2.window:.1f}",
        f"{exact.equal} of {len(exact.ns2.samples)}",
        row.first,
        f"{exact.apart:.2f} %",
        f"{ours.throughput:+.2f} %",
        f"{ours.dropped:+.2f} %",
        str(ours.other.last.timeouts),
        f"{ours.mean_window:+.2f} %",
        f"{ours.apart:.2f} %",
    ]


def write(table: Sequence[Row], ns2_seconds: float, our_seconds: float) -> None:
    """Replaces what the document has between its markers."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in table]
    document = _replaced(_DOCUMENT.read_text(), "table", "\n".join(lines))
    cost = f"ns-2: {ns2_seconds:.1f} s of CPU. netsim, one thread: {our_seconds:.1f} s, a sample every 10 ms included."
    _DOCUMENT.write_text(_replaced(document, "cost", cost))


def _replaced(document: str, name: str, text: str) -> str:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(document):
        raise SystemExit(f"validate: {_DOCUMENT.name} has no place for the {name}: {begin} ... {end}")
    return pattern.sub(lambda _: f"{begin}\n{text}\n{end}", document)
