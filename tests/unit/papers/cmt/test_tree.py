"""The study of large trees, from the command to the files."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groupflow._native import tree_study
from groupflow.cli.main import main
from papers.cmt.tree import study
from papers.cmt.tree.runs import QUICK_SEEDS, QUICK_SIZES, WAYS, Run, run_one


@pytest.mark.slow
def test_the_quick_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "reproduce",
        "cmt",
        "--only",
        "tree",
        "--quick",
        "--jobs",
        "1",
        "--json",
        "--out",
        str(tmp_path),
    ]
    assert main(command) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["claims"]
    held = {claim["id"] for claim in found if claim["holds"]}
    assert {
        "stress-chain",
        "stress-unicast",
        "delay-chain",
        "join-time",
        "study-tree-churn-reached",
        "churn-end",
    } <= held
    assert "stress-multicast" not in held, "hosts on the way of others pass it over the same link"
    rows = list(csv.DictReader((tmp_path / "tree.csv").open()))
    assert len(rows) == len(QUICK_SIZES) * QUICK_SEEDS * len(WAYS)
    assert {row["stress_max"] for row in rows if row["way"] == "multicast"} == {"1"}
    assert (tmp_path / "tree.png").stat().st_size > 10_000


def test_a_run_repeats_and_a_tree_costs_less_than_a_chain() -> None:
    first, again, other = (run_one(Run(80, seed)) for seed in (1, 1, 2))
    assert first == again != other
    tree, chain = first.ways["tree"], first.ways["chain"]
    assert tree.reached == chain.reached == 80 - first.waiting
    assert tree.copies < chain.copies and tree.stretch_mean < chain.stretch_mean


def test_claims_can_fail() -> None:
    outcome = run_one(Run(40, 1))
    worse = dict(outcome.ways, tree=outcome.ways["chain"], chain=outcome.ways["tree"])
    swapped = replace(outcome, ways=worse)
    held = {claim.id: claim.holds for claim in study.judge_sizes([swapped])}
    assert not held["stress-chain"] and not held["delay-chain"]
    equal = replace(outcome.ways["tree"], depth_by_capacity={"0": 3.0, "4": 3.0})
    alike = replace(outcome, ways=dict(outcome.ways, tree=equal))
    assert "capacity-depth" not in {claim.id for claim in study.judge_sizes([alike]) if claim.holds}


def test_what_is_no_study_is_said() -> None:
    with pytest.raises(ValueError, match="spec: missing field"):
        tree_study("{}")
