"""What a paper says, what was measured, whether it holds: `claims.json`, `run.json`, and a table of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, beside what was measured."""

    id: str
    figure: str
    claim: str
    paper: str | float
    """the value or the words of the paper"""
    measured: float
    unit: str
    holds: bool
    note: str = ""


@dataclass(frozen=True)
class RunSummary:
    """How much work a reproduction was."""

    wall_s: float
    simulated_s: float
    packet_hops: int
    seed: int


def write_json(path: Path, content: object) -> None:
    """Writes the file whole or not at all: an interrupted run leaves no half of one."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(content, indent=2) + "\n")
    part.replace(path)


def write_claims(out: Path, claims: Sequence[Claim], run: RunSummary) -> None:
    """Writes `claims.json` and `run.json` into `out`."""
    write_json(out / "claims.json", [asdict(claim) for claim in claims])
    write_json(out / "run.json", asdict(run))


def print_claims(console: Console, claims: Sequence[Claim]) -> None:
    """The table of claims, then how many hold."""
    console.print(claims_table(claims))
    console.print(holding(claims))


def holding(claims: Sequence[Claim]) -> str:
    return f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold"


def claims_table(claims: Sequence[Claim]) -> Table:
    table = Table("figure", "the paper says", "paper", "measured", "", "note")
    for claim in claims:
        verdict = "[green]holds[/green]" if claim.holds else "[red]does not[/red]"
        measured = f"{claim.measured:.4g} {claim.unit}".rstrip()
        table.add_row(claim.figure, claim.claim, str(claim.paper), measured, verdict, claim.note)
    return table
