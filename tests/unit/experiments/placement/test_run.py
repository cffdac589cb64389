"""`groupflow experiment placement`, with its computations made up."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from experiments.placement import run
from experiments.placement.study import Curve
from groupflow.study import frame
from groupflow.study.errors import StoppedError
from groupflow.study.experiment import StudyOptions


def test_what_was_computed_before_ctrl_c_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def curves(*_: object) -> Generator[Curve]:
        yield Curve("line", "bytes", (1.0, 0.5), (1.0, 0.5), (1.0, 0.5), 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "curves", curves)
    with pytest.raises(StoppedError, match="1 runs are kept"):
        frame.run(run.EXPERIMENT, StudyOptions(tmp_path, json=True))
    told = capsys.readouterr().out
    assert json.loads(told) == json.loads((tmp_path / "results.json").read_text()) and told.endswith("}\n")
    assert ([each["network"] for each in json.loads(told)["curves"]], json.loads(told)["ratios"]) == (
        ["line"],
        [],
    )
    assert (tmp_path / "placement.png").stat().st_size > 0
