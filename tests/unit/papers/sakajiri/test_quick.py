"""The short reproduction of the receiver-tuning paper, from the command to the files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from groupflow.cli.main import main
from papers.sakajiri import network
from papers.sakajiri.outcome import run_one
from papers.sakajiri.paper import HIGH, LOW, QUICK, Case, Run
from tests.support.studies import ids

COMMAND = ["reproduce", "sakajiri"]


@pytest.mark.slow
def test_the_quick_reproduction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--quick", "--jobs", "2", "--json", "--out", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    claims: list[dict[str, Any]] = json.loads((tmp_path / "claims.json").read_text())
    assert printed["claims"] == claims and len(claims) == 27
    held = {claim["id"] for claim in claims if claim["holds"]}
    assert {"f3-high", "f3-low", "f3-comparison-high", "f3-low-higher", "f3-inverted"} <= held
    assert {"f5-before", "f5-after", "f6-before", "f6-during", "f6-after"} <= held
    assert {"t2-cubic-high", "t2-compound-low", "t2-vegas-high", "t2-reno-low"} <= held
    names = ("figure-3", "figure-5", "figure-6", "figure-7", "table-2")
    assert {path.name for path in tmp_path.iterdir()} == {
        "claims.json", "run.json", *(f"{name}.png" for name in names), *(f"{name}.csv" for name in names)
    }  # fmt: skip
    rows = list(csv.DictReader((tmp_path / "figure-5.csv").open()))
    assert len(rows) == 6 * 12 and {row["client"] for row in rows} == {*LOW, *HIGH}
    assert {row["connections"] for row in rows} == {"1.0"}


@pytest.mark.slow
def test_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--only", "jump", "--quick", "--jobs", "2", "--out", str(tmp_path)]) == 0
    assert "findings hold" in capsys.readouterr().out
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert {claim["figure"] for claim in claims} == {"study jump"}
    assert {path.name for path in tmp_path.iterdir()} == {
        "claims.json", "run.json", "study-jump.csv",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("situation", network.SITUATIONS)
def test_round_trips_are_those_of_the_case(situation: str) -> None:
    """Measured by the server, in the first ten seconds; one without queues."""
    outcome = run_one(Run(Case("buffer", situation=situation), 1, QUICK))
    expected = network.SITUATIONS[situation].rtts_ms(Case("buffer").links)
    for client, series in outcome.series.items():
        if series.ends_s[0] < 1:
            assert min(rtt for rtt in series.rtts_ms[:20] if rtt) == pytest.approx(expected[client], abs=4), (
                client
            )


@pytest.mark.slow
def test_a_run_repeats_and_seeds_differ() -> None:
    run = Run(Case("both", interference=True), 1, QUICK)
    assert run_one(run).series == run_one(run).series
    assert run_one(run).series != run_one(Run(run.case, 2, QUICK)).series


@pytest.mark.slow
def test_buffers_are_never_more_than_there_is() -> None:
    for method in ("both", "comparison", "climber"):
        outcome = run_one(Run(Case(method, interference=True), 1, QUICK))
        totals = [sum(windows) for windows in zip(*(s.windows for s in outcome.series.values()), strict=True)]
        assert 90_000 < max(totals) <= 100_000


@pytest.mark.parametrize(
    ("arguments", "said"), [(["--only", "tea"], f"tea: unknown; there are {ids('sakajiri')}")]
)
def test_bad_input_is_refused_in_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, *arguments]) == 4
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
