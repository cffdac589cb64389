"""The study of a slow host, from the command to the files."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from groupflow.cli.main import main
from papers.cmt.slow import study
from papers.cmt.slow.network import run_one
from papers.cmt.slow.runs import DEMOTIONS, GROUPS, HOSTS, MODES, QUICK_SEEDS, RATE_MBPS, Outcome, Run


@cache
def of_the_slowest() -> Outcome:
    """A run that several tests look at: it takes seconds."""
    return run_one(Run("slowest", "skip", 1))


@pytest.mark.rare
def test_the_quick_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "cmt", "--only", "slow", "--quick", "--jobs", "1", "--json"]
    assert main([*command, "--out", str(tmp_path)]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["claims"]
    held = {claim["id"] for claim in found if claim["holds"]}
    never = {"none-slow", "never-below", "never-others"}
    assert never | {"slowest-skip-below", "slowest-skip-others", "slowest-isolate-below"} <= held
    rows = list(csv.DictReader((tmp_path / "slow.csv").open()))
    assert len(rows) == QUICK_SEEDS * (1 + len(DEMOTIONS) * len(MODES)) * len(GROUPS)
    assert (tmp_path / "slow.png").stat().st_size > 10_000


@pytest.mark.slow
def test_a_run_repeats_and_seeds_differ() -> None:
    first = of_the_slowest()
    again, other = (run_one(Run("slowest", "skip", seed)) for seed in (1, 2))
    assert first == again != other
    assert first.groups["below"].hosts >= first.children >= 2
    assert sum(first.groups[kind].hosts for kind in ("below", "others", "slow")) == HOSTS


@pytest.mark.slow
def test_a_late_recovery_is_no_recovery(tmp_path: Path) -> None:
    found = of_the_slowest()
    none = replace(found, run=replace(found.run, mode="isolate", is_slow=False))
    runs = [replace(found.run, demotion=rule, mode=mode) for rule in DEMOTIONS for mode in MODES]
    outcomes = [none, *(replace(found, run=each) for each in runs)]
    study.draw(tmp_path / "drawn.png", outcomes)
    assert (tmp_path / "drawn.png").stat().st_size > 10_000
    below = replace(found.groups["below"], caught_up=study.SOON_S + 1)
    late = [replace(each, groups={**each.groups, "below": below}) for each in outcomes]
    soon = {claim.id: claim.holds for claim in study.judge_slow(outcomes)}
    too_late = {claim.id: claim.holds for claim in study.judge_slow(late)}
    assert soon["slowest-skip-below"] and not too_late["slowest-skip-below"]
    assert soon["none-slow"] and too_late["slowest-skip-others"]


@pytest.mark.slow
def test_claims_can_fail() -> None:
    """Outcomes with the goodput of runs without demotion and with demotion exchanged."""
    never, slowest = run_one(Run("never", "skip", 1)), of_the_slowest()
    runs = [Run("never", mode, 1) for mode in MODES]
    runs += [Run(rule, mode, 1) for rule in DEMOTIONS[1:] for mode in MODES]
    none = replace(never, run=Run("slowest", "isolate", 1, is_slow=False))
    swapped = [replace(slowest if run.demotion == "never" else never, run=run) for run in runs]
    held = {claim.id: claim.holds for claim in study.judge_slow([none, *swapped])}
    assert held["none-slow"] and not held["never-below"]
    assert not held["slowest-skip-below"] and not held["largest_latency-isolate-below"]
    late = replace(never.groups["others"], goodput_least=0.9 * RATE_MBPS * 1e6)
    worse = [replace(never, run=run, groups={**never.groups, "others": late}) for run in runs]
    held = {claim.id: claim.holds for claim in study.judge_slow([none, *worse])}
    assert not held["never-others"] and not held["slowest-isolate-others"]
    assert held["never-below"]
