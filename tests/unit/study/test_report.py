"""The printed form of claims: for machines valid JSON, for people with every bracket."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from groupflow.study.claims import Claim, finding
from groupflow.study.options import ExperimentOptions
from groupflow.study.report import RunSummary, counted, holding, report

SUMMARY = RunSummary(1.0, 2.0, 3, 4, quick=False)


def reported(claim: Claim, out: Path, *, json: bool = False) -> None:
    report(ExperimentOptions("tea", out, json=json), [claim], SUMMARY, 1, Console(width=200))


@pytest.mark.parametrize(
    ("measured", "written"),
    [(np.float32(0.5), 0.5), (np.int64(3), 3.0), (2, 2.0), (np.nan, None), (float("inf"), None)],
)
def test_claims_are_valid_json_whatever_was_measured(
    measured: float, written: float | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paper: float = np.float32(1.5)  # pyright: ignore[reportAssignmentType]
    holds: bool = np.bool_(True)  # pyright: ignore[reportAssignmentType]
    reported(Claim("hot", "Fig. 1", "tea is hot", paper, measured, "C", holds), tmp_path, json=True)
    for text in (capsys.readouterr().out, (tmp_path / "claims.json").read_text()):
        found: Any = json.loads(text, parse_constant=pytest.fail)
        claim: dict[str, Any] = found["claims"][0] if "claims" in found else found[0]
        assert (claim["measured"], claim["holds"], claim["paper"]) == (written, True, 1.5)


def test_claims_findings_and_fitted_values_are_counted_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = Claim("hot", "Fig. 1", "tea is hot", 80, 90.0, "C", True)
    claims = [
        said,
        replace(said, holds=False),
        replace(said, claim="cups were weighed", kind="fitted"),
        finding("tea", "green", "green tea is hot", 1, "C", True, ""),
    ]
    assert holding(claims) == "1 of 2 claims hold; 1 of 1 findings hold; 1 fitted values are not counted"
    assert counted(claims) == {"claims": {"hold": 1, "of": 2}, "findings": {"hold": 1, "of": 1}}
    assert holding(claims[3:]) == "1 of 1 findings hold"
    assert holding([]) == "no claims"
    report(ExperimentOptions("tea", tmp_path), claims, SUMMARY, 1, Console(width=200))
    printed = capsys.readouterr().out
    order = [
        "the paper says",
        "a parameter was inferred",
        "cups were weighed",
        "beyond the paper",
        "green tea",
    ]
    assert sorted(order, key=printed.index) == order
    assert json.loads((tmp_path / "run.json").read_text())["claims"] == {"hold": 1, "of": 2}


def test_brackets_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "[red]"
    out.mkdir()
    reported(finding("tea[b]", "hot", "hot [i]", 1, "[u]", True, "fixed [s]"), out)
    said = capsys.readouterr().out
    for text in ("study tea[b]", "hot [i]", "1 [u]", "fixed [s]", "[red]"):
        assert text in said
    assert "[green]" not in said
