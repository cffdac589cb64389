"""What a paper says, what was measured, and whether it holds."""

from dataclasses import dataclass

BEYOND = "beyond the paper"


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


def finding(study: str, name: str, claim: str, measured: float, unit: str, holds: bool, note: str) -> Claim:
    """A claim of a study beyond the paper; the note states its criterion."""
    return Claim(f"study-{study}-{name}", f"study {study}", claim, BEYOND, measured, unit, holds, note)
