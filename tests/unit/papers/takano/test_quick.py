"""The short reproduction, from the command to the files; with control it shows what the long one does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from groupflow.cli.main import main
from papers.takano.studies import STUDIES
from tests.support.waiting import wait_until

WITH_CONTROL = {"dfc-half", "dfc-stable", "dfc-no-loss"}


@pytest.mark.rare
def test_the_quick_reproduction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "takano", "--quick", "--jobs", "2", "--json", "--out", str(tmp_path)]
    assert main(command) == 0
    printed = json.loads(capsys.readouterr().out)
    claims: list[dict[str, Any]] = json.loads((tmp_path / "claims.json").read_text())
    assert printed["claims"] == claims
    assert {"id", "figure", "claim", "paper", "measured", "unit", "holds", "note", "kind"} == claims[0].keys()
    held = {claim["id"] for claim in claims if claim["holds"]}
    assert {f"{case}-{name}" for case in ("2", "4S") for name in WITH_CONTROL} <= held
    assert {f"study-{name}-dfc-no-loss" for name in ("delays", "flows", "tcps", "rivals")} <= held
    assert {"study-stability-one-below", "study-stability-one-beyond", "study-rivals-dfc-no-loss"} <= held
    found = {claim["id"]: claim for claim in claims}
    assert found["2-tcp-loss"]["measured"] > 0
    assert found["2-tcp-loss"]["note"].startswith("in 2 of 2 runs, ")
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["packet_hops"] > 50_000_000 and run["seed"] == 1
    assert {path.name for path in tmp_path.glob("*.png")} == {
        "figure-2.png",
        "figure-3.png",
        "figure-7-scenario-2.png",
        "figure-14-scenario-4S.png",
        "study-stability.png",
    }
    assert {path.name for path in tmp_path.glob("*.csv")} == {
        "figure-2.csv",
        "figure-3.csv",
        "scenario-2.csv",
        "scenario-4S.csv",
        *(f"{study.name}.csv" for study in STUDIES),
    }
    assert (tmp_path / "data/scenario-2-tcp/run-2/queues.csv").stat().st_size > 0
    assert not list(tmp_path.rglob(".*")), "no partial data is left"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "scenario-9"], "scenario-9: unknown; there are figure-2, figure-3, scenario-1, figure-6"),
        (["--scenario", "2"], "unrecognized arguments: --scenario 2"),
        (["--only", "flows", "--jobs", "0"], "--jobs: '0' will not do; write a whole number from 1 on"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "takano", *arguments]) in (2, 4)
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_folder_that_cannot_be_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "out"
    assert main(["reproduce", "takano", "--only", "flows", "--quick", "--out", str(out)]) == 4
    error = capsys.readouterr().err
    assert f"--out {out}: " in error and "is no folder; name another one" in error


@pytest.mark.slow
def test_an_interrupted_run_keeps_and_tells_what_is_finished(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "groupflow.cli.main", "reproduce", "takano", "--quick", "--jobs", "1"]
    scenarios = ["--only", "scenario-4S", "--only", "figure-7"]  # one after the other
    with subprocess.Popen(
        [*command, *scenarios, "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        first = tmp_path / "figure-14-scenario-4S.png"
        wait_until(lambda: first.exists() or process.poll() is not None, "a figure", seconds=100)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        printed, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "groupflow: interrupted; " in error and "of 6 runs kept" in error and "Traceback" not in error
    found = {claim["id"] for claim in json.loads((tmp_path / "claims.json").read_text())}
    assert {"4S-dfc-half", "4S-dfc-no-loss"} <= found and "2-dfc-no-loss" not in found
    assert "claims hold" in printed
    assert json.loads((tmp_path / "run.json").read_text())["packet_hops"] > 0
    assert (tmp_path / "scenario-4S.csv").exists() and not (tmp_path / "scenario-2.csv").exists()
    assert not list(tmp_path.rglob(".*")), "no partial data is left"
