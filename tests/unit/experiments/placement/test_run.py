"""`groupflow experiment placement`, with its computations made up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.placement import figure, run
from groupflow.study.options import ExperimentOptions


def test_json_is_one_document_and_ends_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object) -> list[object]:
        return []

    for module, name in ((run, "curves"), (run, "against_the_best"), (figure, "draw")):
        monkeypatch.setattr(module, name, nothing)
    run.run(ExperimentOptions(name="placement", out=tmp_path, json=True))
    told = capsys.readouterr().out
    assert json.loads(told) == {"curves": [], "ratios": []} and told.endswith("}\n")
