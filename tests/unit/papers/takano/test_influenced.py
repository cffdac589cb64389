"""Fig. 2: the formula, and fitted claims that its constants decide."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from groupflow.cli.main import main
from papers.takano import influenced
from papers.takano.influenced import FAST_BPS, SLOW_BPS, SPEEDS_BPS, Speed, compute, judge

POINTS = {bps: compute(Speed(bps)) for bps in SPEEDS_BPS}


def holds(points: influenced.Points) -> dict[str, bool]:
    return {claim.id: claim.holds for claim in judge(points)}


def test_packets_are_those_on_all_links_until_the_control_acts() -> None:
    assert POINTS[SLOW_BPS].hosts == pytest.approx(5 * 0.5 * 10e6 * 0.1 / 12_000)
    assert POINTS[FAST_BPS].nodes == pytest.approx(5 * 0.5 * 100e9 * 50e-6 / 12_000)
    assert all(holds(POINTS).values())


def test_no_claim_counts_as_evidence() -> None:
    assert {claim.kind for claim in judge(POINTS)} == {"fitted"}


@pytest.mark.parametrize(
    ("bps", "change", "refuted"),
    [
        (SLOW_BPS, {"hosts": 41.7}, "figure-2-slow"),
        (FAST_BPS, {"hosts": 416_667.0, "nodes": 208.0}, "figure-2-fast"),
        (FAST_BPS, {"nodes": 2083.0}, "figure-2-factor"),
    ],
)
def test_each_claim_can_fail(bps: int, change: dict[str, float], refuted: str) -> None:
    found = holds(POINTS | {bps: replace(POINTS[bps], **change)})
    assert not found[refuted]


@pytest.mark.slow
def test_the_command_draws_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "takano", "--only", influenced.NAME, "--out", str(tmp_path)]) == 0
    assert "3 fitted values are not counted" in capsys.readouterr().out
    assert (tmp_path / "figure-2.png").stat().st_size > 5_000
    with (tmp_path / "figure-2.csv").open() as file:
        assert [int(row["bps"]) for row in csv.DictReader(file)] == SPEEDS_BPS
