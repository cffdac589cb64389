"""The short reproduction of the split-connection paper, from the command to the files."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from groupflow.cli.main import main
from papers.icn2011.paper import METHODS
from tests.support.studies import ids
from tests.support.waiting import wait_until

COMMAND = ["reproduce", "icn2011"]


@pytest.mark.rare
def test_the_quick_reproduction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--quick", "--jobs", "2", "--json", "--out", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    claims: list[dict[str, Any]] = json.loads((tmp_path / "claims.json").read_text())
    assert printed["claims"] == claims and len(claims) >= 30
    held = {claim["id"] for claim in claims if claim["holds"]}
    assert {"n2n-flat", "e2e-flat", "unicast-more", "split-higher-10ms", "split-higher-100ms"} <= held
    assert {"n2n-one-cache", "e2e-one-cache"} <= held
    assert {"four-low-load", "n2n-four-highest", "four-cache-more"} <= held
    assert {"group-flat", "group-only-data", "group-four-low-load", "members-less-10ms"} <= held
    figures = {f"figure-{number}" for number in range(6, 13)}
    assert {path.name for path in tmp_path.iterdir()} == {
        "claims.json", "run.json", *(f"{name}.png" for name in figures), *(f"{name}.csv" for name in figures)
    }  # fmt: skip
    rows = list(csv.DictReader((tmp_path / "figure-9.csv").open()))
    assert {row["senders"] for row in rows} == {"4"}
    papers = [row for row in rows if row["method"] in METHODS]
    assert len(papers) == 3 * 3 * 2 and {row["seed"] for row in papers} == {"1", "2"}
    assert {row["simulated_s"] for row in papers} == {"10.0"}
    assert [(row["method"], row["seed"]) for row in rows if row not in papers] == [
        *[("group", "1")] * 3, *[("members", "1")] * 3,
    ]  # fmt: skip
    assert json.loads((tmp_path / "run.json").read_text())["packet_hops"] > 10_000_000


@pytest.mark.slow
def test_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--only", "diffusion", "--quick", "--jobs", "2", "--out", str(tmp_path)]) == 0
    assert "findings hold" in capsys.readouterr().out
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert {claim["figure"] for claim in claims} == {"study diffusion"}
    assert {"study-diffusion-n2n-lost", "study-diffusion-e2e-lost"} <= {
        claim["id"] for claim in claims if claim["holds"]
    }
    assert {path.name for path in tmp_path.iterdir()} == {
        "claims.json", "run.json", "study-diffusion.csv",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "tea"], f"tea: unknown; there are {ids('icn2011')}"),
        (["--jobs", "0"], "--jobs: '0' will not do; write a whole number from 1 on"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, *arguments]) in (2, 4)
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_folder_that_cannot_be_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "out"
    assert main([*COMMAND, "--quick", "--out", str(out)]) == 4
    error = capsys.readouterr().err
    assert f"--out {out}: " in error and "is no folder; name another one" in error


@pytest.mark.slow
def test_an_interrupted_run_keeps_and_tells_what_is_finished(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "groupflow.cli.main", *COMMAND, "--quick", "--jobs", "1"]
    with subprocess.Popen(
        [*command, "--out", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        first = tmp_path / "figure-6.png"
        wait_until(lambda: first.exists() or process.poll() is not None, "a figure", seconds=100)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        printed, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "groupflow: interrupted; " in error and "of 99 runs" in error and "Traceback" not in error
    figures = {claim["figure"] for claim in json.loads((tmp_path / "claims.json").read_text())}
    assert "V.A, Fig. 6" in figures and "V.C, Fig. 12" not in figures
    assert "claims hold" in printed
    assert json.loads((tmp_path / "run.json").read_text())["packet_hops"] > 0
    assert (tmp_path / "figure-6.csv").exists() and not (tmp_path / "figure-12.csv").exists()
    assert not list(tmp_path.glob(".*")), "no partial data is left"
