"""The short reproduction of the cache-bone paper, from the command to the files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from groupflow._native import bone_steps
from groupflow.cli.main import main
from groupflow.study import StudyError
from papers.amcb import flowcharts
from papers.amcb.infer import SIZE, inferred, loss, through
from papers.amcb.outcome import Outcome, run_one
from papers.amcb.paper import METHODS, QUICK_SIZES, TABLE, Case, Run
from tests.support.studies import beyond

STUDIES = beyond("amcb")

COMMAND = ["reproduce", "amcb"]
SURE = {"rims": {"complete-selective"}, "modes": {f"{method}-selective" for method in METHODS}}
"""claims of studies that hold in the short variant, too"""


@pytest.mark.slow
def test_the_quick_reproduction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--quick", "--jobs", "2", "--json", "--out", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    claims: list[dict[str, Any]] = json.loads((tmp_path / "claims.json").read_text())
    assert printed["claims"] == claims
    held = {claim["id"] for claim in claims if claim["holds"]}
    assert {"order-scheduled", "order-unscheduled", "lowest-scheduled"} <= held
    assert {path.name for path in tmp_path.iterdir()} == {
        "claims.json", "run.json", "table-1.csv", "table-1.png", "bone-hub.png", "bone-rim.png",
    }  # fmt: skip
    rows = list(csv.DictReader((tmp_path / "table-1.csv").open()))
    assert len(rows) == len(QUICK_SIZES) * len(METHODS) * 2
    assert {row["complete"] for row in rows} == {"3"}, "every rim has every byte"


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_study(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--only", name, "--quick", "--jobs", "2", "--out", str(tmp_path)]) == 0
    assert "findings hold" in capsys.readouterr().out
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert {claim["figure"] for claim in claims} == {f"study {name}"}
    held = {claim["id"].removeprefix(f"study-{name}-") for claim in claims if claim["holds"]}
    assert held >= SURE.get(name, set()), claims
    assert (tmp_path / f"study-{name}.csv").stat().st_size > 0


@pytest.mark.parametrize(("states", "number"), [(flowcharts.HUB, 0), (flowcharts.RIM, 1)])
def test_a_flowchart_has_every_state_and_step(states: dict[str, str], number: int) -> None:
    steps = bone_steps()[number]
    assert {state for start, _, to in steps for state in (start, to)} == set(states)
    arrows = [line for line in flowcharts.chart("", states, steps).splitlines() if " -> " in line]
    for start, when, to in steps:
        assert any(arrow.strip().startswith(f"{start} -> {to} ") and when in arrow for arrow in arrows)
    assert len(arrows) == len({(start, to) for start, _, to in steps})


def test_without_graphviz_its_lack_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StudyError, match="make setup"):
        flowcharts.draw(tmp_path / "hub.png", tmp_path / "rim.png")


def test_the_link_follows_from_the_table() -> None:
    link = inferred()
    assert through(loss(0.4)) == pytest.approx(0.4)
    # The paper's unicast carried 10.3 kB/s, of which a round trip of 64 packets is a tenth.
    assert 11_000 < SIZE / link.interval_s < 11_600
    assert 0 < link.shared_loss < link.own_loss < 0.02


def test_a_run_repeats_and_seeds_differ() -> None:
    run = Run(Case(85_200), 1)
    assert run_one(run) == run_one(run)
    assert run_one(run).latency_s != run_one(Run(run.case, 2)).latency_s


def test_on_a_congested_link_packets_get_smaller_and_every_rim_has_the_file() -> None:
    clean, congested = (run_one(Run(Case(194_557, link=link), 1)) for link in ("clean", "congested"))
    assert clean.complete == congested.complete == 3
    assert congested.packet < 0.9 * clean.packet


@pytest.mark.parametrize(("off", "held"), [(1.03, False), (1.08, True)])
def test_rims_that_forget_fit_better_by_more_than_seeds_vary(off: float, held: bool) -> None:
    """Those that forget are as in the paper, those that remember are off by a factor."""

    def made(run: Run) -> Outcome:
        cell = TABLE[run.case.size][run.case.method]
        factor = 1.0 if run.case.forgets else off
        return Outcome(run, cell.latency_s * factor, cell.again_percent * factor, 0.0, 0, 0, 0, 0, 0.0)

    study = STUDIES["forgetting"]
    found = list(study.judge({run.case: [made(run)] for run in study.runs(True, 1)}))
    assert {claim.holds for claim in found} == {held}
