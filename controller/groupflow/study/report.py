"""The results of a reproduction: `claims.json` and `run.json`, and their printed form."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from groupflow.study.claims import Claim, Kind, counts
from groupflow.study.files import into, write_json
from groupflow.study.options import ExperimentOptions
from groupflow.study.part import Outcome

NO_VERDICT = "short runs (--quick) are no verdict on the paper: leave --quick out to judge its claims"


@dataclass(frozen=True)
class RunSummary:
    """The amount of work in a reproduction."""

    wall_s: float
    simulated_s: float
    packet_hops: int
    seed: int
    quick: bool
    """the runs were short: the claims are no verdict"""

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], wall_s: float, options: ExperimentOptions) -> "RunSummary":
        simulated_s = round(sum(outcome.simulated_s for outcome in outcomes), 6)
        hops = int(sum(outcome.packet_hops for outcome in outcomes))
        return cls(round(wall_s, 3), simulated_s, hops, options.seed, options.quick)


def report(
    options: ExperimentOptions, claims: Sequence[Claim], summary: RunSummary, runs: int, console: Console
) -> None:
    """Writes both files, and prints them as JSON, or for people as a table and a last line.

    Raises StudyError where they cannot be written; they are printed all the same.
    """
    results = {"claims": [claim.form() for claim in claims], "run": {**asdict(summary), **counted(claims)}}
    hops = f"{summary.packet_hops / 1e6:.0f} million packet hops"
    last = f"{runs} runs, {hops} in {summary.wall_s:.0f} s; {options.out}"
    try:
        with into(options.out):
            for name, content in results.items():
                write_json(options.out / f"{name}.json", content)
    finally:
        _print(options, results, claims, last, console)


def _print(
    options: ExperimentOptions,
    results: Mapping[str, object],
    claims: Sequence[Claim],
    last: str,
    console: Console,
) -> None:
    if options.quick:
        console.print(NO_VERDICT)
    if options.json:
        print(json.dumps(results, indent=2))
        return
    for each in shown(claims):
        console.print(each)
    console.print(last, markup=False)


def counted(claims: Iterable[Claim]) -> dict[str, dict[str, int]]:
    """The numbers of claims of the paper, and of findings beyond it, that hold; for JSON."""
    found = counts(claims)
    kinds: tuple[tuple[str, Kind], ...] = (("claims", "claim"), ("findings", "finding"))
    return {name: dict(zip(("hold", "of"), found[kind], strict=True)) for name, kind in kinds}


def shown(claims: Sequence[Claim]) -> list[RenderableType]:
    """A table for each kind of claim that there is, then a line with the numbers that hold."""
    tables = [_table(says, [claim for claim in claims if claim.kind == kind]) for kind, says in _SAYS.items()]
    return [*(table for table in tables if table.row_count), holding(claims)]


def holding(claims: Iterable[Claim]) -> str:
    """One line with the numbers of claims and of findings that hold, each apart."""
    found = counts(claims)
    parts = [f"{found['claim'][0]} of {found['claim'][1]} claims hold"] if found["claim"][1] else []
    parts += [f"{found['finding'][0]} of {found['finding'][1]} findings hold"] if found["finding"][1] else []
    parts += [f"{found['fitted'][1]} fitted values are not counted"] if found["fitted"][1] else []
    return "; ".join(parts) or "no claims"


_SAYS: Mapping[Kind, str] = {
    "claim": "the paper says",
    "fitted": "the paper says; a parameter was inferred from it: no prediction",
    "finding": "found beyond the paper",
}


def _table(says: str, claims: Sequence[Claim]) -> Table:
    """A table with a row and a verdict for each claim; texts of claims are never taken for markup."""
    table = Table("figure", says, "paper", "measured", "", "note")
    for claim in claims:
        verdict = "[green]holds[/green]" if claim.holds else "[red]does not[/red]"
        measured = f"{claim.measured:.4g} {claim.unit}".rstrip()
        before = (claim.figure, claim.claim, str(claim.paper), measured)
        table.add_row(*map(Text, before), verdict, Text(claim.note))
    return table
