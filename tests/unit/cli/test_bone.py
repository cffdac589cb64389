"""`groupflow bone hub` repairs as the paper does, and its help recommends what is better."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from groupflow.agents.bone import orders
from groupflow.cli.main import main

RESULTS = Path(__file__).parents[3] / "docs" / "results" / "amcb.md"


def test_go_back_n_is_the_default_and_the_better_repair_is_recommended_with_its_figures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bone", "hub", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    row = re.search(r"^\| scheduled \| (\d+) s, [^|]+\| (\d+) s", RESULTS.read_text(), re.MULTILINE)
    assert row is not None, "the table of repairs"
    slow, fast = row.groups()
    assert "packets sent again: all from the first lost one, as in the paper" in text
    assert f"(selective), which takes {fast} s where go-back-n takes {slow} (default: go-back-n)" in text


def test_the_program_has_the_same_default() -> None:
    program = Path(sys.executable).with_name("gfagent")
    told = subprocess.run([program, "bone-hub", "--help"], capture_output=True, text=True, check=True)
    repair = told.stdout.partition("--repair")[2].partition("--rim")[0]
    assert "[default: go-back-n]" in repair


def test_a_file_that_a_rim_lacks_ends_with_its_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sending = orders.FileView("a", 5, None, "sending")
    sent = orders.FileView("a", 5, None, "sent", error="without rim 00000065")

    def send(*_: object) -> orders.FileView:
        return sending

    def show(*_: object) -> orders.FileView:
        return sent

    monkeypatch.setattr(orders, "send_file", send)
    monkeypatch.setattr(orders, "show_file", show)
    assert main(["bone", "send", "a", "--wait"]) == 3
    assert "a: complete without rim 00000065: lost on the way" in capsys.readouterr().err
