"""A study beyond the paper: cases, the rules that judge them, and a figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments.common.claims import Claim
from papers.cmt.sockets.outcome import Outcomes
from papers.cmt.sockets.paper import Case

BEYOND = "beyond the paper"


@dataclass(frozen=True)
class Study:
    """What the command runs, writes and draws under a name."""

    name: str
    cases: Callable[[bool], list[Case]]
    """of the short variant or the full one"""
    judge: Callable[[Outcomes], list[Claim]]
    draw: Callable[[Path, Outcomes], None]


def finding(study: str, name: str, claim: str, measured: float, unit: str, holds: bool, note: str) -> Claim:
    """A claim of ours; the note states its criterion."""
    return Claim(f"study-{study}-{name}", f"study {study}", claim, BEYOND, measured, unit, holds, note)
