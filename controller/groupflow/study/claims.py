"""Claims of a paper, each with the measured value and its verdict."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

BEYOND = "beyond the paper"

Kind: TypeAlias = Literal["claim", "finding", "fitted"]
"""claim: a statement of the paper. finding: a statement beyond the paper. fitted: a figure of the paper from
which a parameter was inferred or chosen, which is shown and not counted"""


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, beside the measurement."""

    id: str
    figure: str
    claim: str
    paper: str | float
    """the value or the words of the paper"""
    measured: float
    unit: str
    holds: bool
    note: str = ""
    kind: Kind = "claim"

    def __post_init__(self) -> None:
        """Turns numbers of numpy into Python's, which JSON can hold."""
        for name, kind in (("measured", float), ("holds", bool)):
            object.__setattr__(self, name, kind(getattr(self, name)))
        if not isinstance(self.paper, str | int):
            object.__setattr__(self, "paper", float(self.paper))

    def form(self) -> dict[str, Any]:
        """The claim for JSON: None where a number is not finite."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        }


def finding(study: str, name: str, claim: str, measured: float, unit: str, holds: bool, note: str) -> Claim:
    """A claim of a study beyond the paper; the note states its criterion."""
    return Claim(
        f"study-{study}-{name}", f"study {study}", claim, BEYOND, measured, unit, holds, note, "finding"
    )


def restated(claim: Claim, study: str, *variant: str, said: str = "") -> Claim:
    """A paper's claim, judged on the runs of a study beyond the paper, or of a variant of that study, which
    `said` names."""
    name = "-".join(("study", study, *variant, claim.id))
    words = f"{said}: {claim.claim}" if said else claim.claim
    return replace(claim, id=name, figure=f"study {study}", claim=words, paper=BEYOND, kind="finding")


ByValue: TypeAlias = Mapping[str, bool]
"""whether a claim holds, by the value of a parameter"""


def over_values(study: str, key: str, claim: str, parameter: str, by: ByValue) -> Claim:
    """A finding that holds where the claim holds at every value; the note names the values."""
    good = [value for value, holds in by.items() if holds]
    bad = [value for value, holds in by.items() if not holds]
    note = f"{parameter}: holds at {', '.join(good) or 'none'}"
    if bad:
        note += f"; not at {', '.join(bad)}"
    return finding(study, key, claim, len(good) / len(by), "of the values", not bad, note)
