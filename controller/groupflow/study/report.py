"""Claims in print: a table for each kind, which fits a terminal of 80 columns, and how many of them hold."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from groupflow.study.claims import Claim, Kind


def counted(claims: Sequence[Claim]) -> dict[str, dict[str, int]]:
    """The numbers of claims of the paper, and of findings beyond it, that hold; for JSON."""
    held = {
        kind: [each.holds for each in claims if f"{each.kind}s" == kind] for kind in ("claims", "findings")
    }
    return {kind: {"hold": sum(found), "of": len(found)} for kind, found in held.items()}


def shown(claims: Sequence[Claim]) -> list[RenderableType]:
    """A table for each kind of claim that there is, then a line with the numbers that hold."""
    tables = [_table(says, [claim for claim in claims if claim.kind == kind]) for kind, says in _SAYS.items()]
    return [*(table for table in tables if table.row_count), holding(claims)]


def holding(claims: Sequence[Claim]) -> str:
    """One line with the numbers of claims and of findings that hold, each apart."""
    found = counted(claims).items()
    parts = [f"{held['hold']} of {held['of']} {kind} hold" for kind, held in found if held["of"]]
    if fitted := sum(claim.kind == "fitted" for claim in claims):
        parts.append(f"{fitted} fitted values are not counted")
    return "; ".join(parts) or "no claims"


_SAYS: Mapping[Kind, str] = {
    "claim": "the paper says",
    "fitted": "the paper says; a parameter was inferred from it: no prediction",
    "finding": "found beyond the paper",
}


def _table(says: str, claims: Sequence[Claim]) -> Table:
    """A row and a verdict for each claim, with its note below it; texts of claims are never markup."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, leading=1)
    table.add_column(says, ratio=1)
    from_paper = not all(claim.kind == "finding" for claim in claims)
    if from_paper:
        table.add_column("paper", max_width=10)
    table.add_column("measured", max_width=20)
    table.add_column("", no_wrap=True)
    for claim in claims:
        verdict = Text("holds", "green") if claim.holds else Text("fails", "red")
        said = Text(f"{claim.figure}: {claim.claim}" if claim.figure else claim.claim)
        said.append(f"\n{claim.note}" if claim.note else "", "dim")
        measured = f"{claim.measured:.4g} {claim.unit}".rstrip()
        paper = [Text(str(claim.paper))] if from_paper else []
        table.add_row(said, *paper, Text(measured), verdict)
    return table
