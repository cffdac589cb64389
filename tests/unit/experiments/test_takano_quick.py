"""The short reproduction, from the command to the files; with control it shows what the long one does."""

import json
from pathlib import Path
from typing import Any

import pytest

from groupflow.cli.main import main

WITH_CONTROL = {"dfc-half", "dfc-stable", "dfc-fair", "dfc-no-loss"}


def test_the_quick_reproduction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "takano", "--quick", "--jobs", "2", "--json", "--out", str(tmp_path)]
    assert main(command) == 0
    printed = json.loads(capsys.readouterr().out)
    claims: list[dict[str, Any]] = json.loads((tmp_path / "claims.json").read_text())
    assert printed["claims"] == claims
    assert {"id", "figure", "claim", "paper", "measured", "unit", "holds", "note"} == claims[0].keys()
    held = {claim["id"] for claim in claims if claim["holds"]}
    assert {f"{case}-{name}" for case in ("2", "4S") for name in WITH_CONTROL} <= held
    lost = {claim["id"]: claim["measured"] for claim in claims if claim["id"].endswith("tcp-loss")}
    assert lost.keys() == {"2-tcp-loss", "4S-tcp-loss"} and min(lost.values()) > 0
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["packet_hops"] > 10_000_000 and run["seed"] == 1
    assert {path.name for path in tmp_path.glob("*.png")} == {
        "figure-7-scenario-2.png",
        "figure-14-scenario-4S.png",
    }
    assert (tmp_path / "data/takano-2-dfc/queues.csv").stat().st_size > 0
    assert not list(tmp_path.glob("data/.*")), "no partial data is left"


def test_an_unknown_scenario_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "takano", "--scenario", "9"]) == 4
    assert "--scenario 9: the paper has 1, 2, 3, 4" in capsys.readouterr().err
