"""`groupflow fit`: how a P4 program for Tofino fits its chip, from its compiler's logs."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from groupflow.cli.common import Common, Rows, check_output, print_json, print_table
from groupflow.fit.logs import read
from groupflow.fit.picture import draw
from groupflow.fit.report import MEMORIES, Report, report
from groupflow.model.fields import Help


def fit(
    common: Common,
    folder: Annotated[Path, Help("what the compiler wrote, with -g", "FOLDER")],
    *,
    svg: Annotated[Path | None, Help("draw the stages as a picture", "FILE")] = None,
) -> None:
    """Show how a P4 program for Tofino fits its chip, from the logs of its compiler."""
    check_output(svg, "--svg")
    reports = [report(logs) for logs in read(folder)]
    if svg:
        for one in reports:
            name = svg.name if len(reports) == 1 else f"{svg.stem}-{one.pipe}{svg.suffix}"
            svg.with_name(name).write_text(draw(one), encoding="utf-8")
    if common.json:
        print_json([asdict(one) for one in reports])
        return
    for number, one in enumerate(reports):
        print("\n" * bool(number) + f"{one.program} ({one.pipe}): {one.summary}")
        _print(one)


def _print(one: Report) -> None:
    stages: Rows = [{"stage": number, **used} for number, used in enumerate(one.stages)]
    tables: Rows = [
        {"table": table.name, "gress": table.gress, "stages": list(table.stages), **table.uses}
        | {"may_be_in": "" if table.earliest is None else f"{table.earliest}-{table.latest}"}
        for table in one.tables
    ]
    chains: Rows = [
        {"table": each.after, "does": each.kind, "fields": list(each.fields), "of": each.before}
        for chain in one.chains.values()
        for each in chain
    ]
    for title, rows, columns in (
        ("stages", [*stages, {"stage": "of", **one.available}], ("stage", *one.available)),
        ("tables", tables, ("table", "gress", "stages", "may_be_in", *MEMORIES)),
        ("the longest chain of dependencies", chains, ("table", "does", "fields", "of")),
        ("parsers", one.parsers, ("gress", "states", "rows")),
        ("packet header vector", one.containers, ("kind", "bits", "used", "of", "bits_used")),
    ):
        if rows:
            print(f"\n{title}")
            print_table(rows, columns)
    print("".join(f"\n{line}" for line in one.advice))
