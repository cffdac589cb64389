"""The printed form of claims: for machines valid JSON, for people every word of a claim at 80 columns."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from groupflow.study.claims import Claim, finding
from groupflow.study.report import counted, holding, shown

HOT = Claim("hot", "Fig. 1", "tea is hot", 80, 90.0, "C", True)


def printed(claims: Sequence[Claim], width: int = 200) -> str:
    console = Console(width=width)
    with console.capture() as text:
        for each in shown(claims):
            console.print(each)
    return text.get()


@pytest.mark.parametrize(
    ("measured", "written"),
    [(np.float32(0.5), 0.5), (np.int64(3), 3.0), (2, 2.0), (np.nan, None), (float("inf"), None)],
)
def test_claims_are_valid_json_whatever_was_measured(measured: float, written: float | None) -> None:
    paper: float = np.float32(1.5)  # pyright: ignore[reportAssignmentType]
    holds: bool = np.bool_(True)  # pyright: ignore[reportAssignmentType]
    claim = Claim("hot", "Fig. 1", "tea is hot", paper, measured, "C", holds)
    found: Any = json.loads(json.dumps(claim.form()), parse_constant=pytest.fail)
    assert (found["measured"], found["holds"], found["paper"]) == (written, True, 1.5)


def test_claims_findings_and_fitted_values_are_counted_apart() -> None:
    claims = [
        HOT,
        replace(HOT, holds=False),
        replace(HOT, claim="cups were weighed", kind="fitted"),
        finding("tea", "green", "green tea is hot", 1, "C", True, ""),
    ]
    assert holding(claims) == "1 of 2 claims hold; 1 of 1 findings hold; 1 fitted values are not counted"
    assert counted(claims) == {"claims": {"hold": 1, "of": 2}, "findings": {"hold": 1, "of": 1}}
    assert holding(claims[3:]) == "1 of 1 findings hold"
    assert holding([]) == "no claims"
    order = [
        "the paper says",
        "a parameter was inferred",
        "cups were weighed",
        "beyond the paper",
        "green tea",
    ]
    text = printed(claims)
    assert sorted(order, key=text.index) == order


def test_brackets_are_printed() -> None:
    said = printed([finding("tea[b]", "hot", "hot [i]", 1, "[u]", True, "fixed [s]")])
    for text in ("study tea[b]", "hot [i]", "1 [u]", "fixed [s]"):
        assert text in said
    assert "[green]" not in said


LONG = Claim(
    "4V2-same", "6.2, Figs. 18, 19",
    "Vegas: DFC makes almost no difference, and no packet is lost with it or without",
    "degraded remarkably", 0.123456,
    "difference between the means of the last two quarters of the run", False,
    "in 2 of 5 runs, 0.0123 to 0.456; where the efficiency is 0.25 at least: less never meets a buffer",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["claim", "finding", "fitted"])
def test_claims_can_be_read_at_80_columns(kind: Any) -> None:
    lines = printed([replace(LONG, kind=kind), replace(HOT, kind=kind)], width=80).splitlines()
    assert max(map(len, lines)) <= 80
    words = " ".join(lines).split()
    paper = "" if kind == "finding" else LONG.paper
    said = f"{LONG.figure}: {LONG.claim} {LONG.note} {paper} 0.1235 {LONG.unit} fails"
    assert not set(said.split()) - set(words), "no word is cut"
    row = [line for line in lines if "Vegas" in line or "difference, and" in line]
    assert len(row) == 2, "a claim has at least half of the line"
