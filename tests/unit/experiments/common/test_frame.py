"""The frame of the experiments on real networks, without a network."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from experiments.common.frame import Findings, Frame, RunError
from groupflow.cli.command import CommandError
from groupflow.study.options import ExperimentOptions


def find(done: Sequence[int]) -> Findings:
    return Findings({"results.json": list(done)}, list(done), ["a table"], failed=13 in done)


def frame(out: Path, *, as_json: bool = True) -> Frame[int]:
    return Frame[int](ExperimentOptions(name="x", out=out, json=as_json))


def runs(*results: int, then: BaseException | None = None) -> Generator[int]:
    yield from results
    if then is not None:
        raise then


@pytest.mark.parametrize(
    ("results", "then", "lagging", "code", "said"),
    [
        ((1, 2), None, [], 0, ""),
        ((1, 2), None, ["s1: late"], 1, "groupflow: CPU-bound, do not trust the figures: s1: late\n"),
        ((1, 13), None, [], 1, ""),
        ((1,), KeyboardInterrupt(), [], 130, "groupflow: interrupted; 1 runs are kept\n"),
    ],
)
def test_what_is_over_is_kept(
    results: tuple[int, ...],
    then: BaseException | None,
    lagging: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trial = frame(tmp_path / "out")
    trial.lagging += lagging
    assert trial.run(runs(*results, then=then), find) == code
    told = capsys.readouterr()
    assert json.loads(told.out) == json.loads((tmp_path / "out/results.json").read_text()) == list(results)
    assert told.err == said


def test_tables_are_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert frame(tmp_path, as_json=False).run(runs(1), find) == 0
    assert capsys.readouterr().out.split("\n")[0] == "a table"


def test_an_interrupt_before_the_first_result_is_one(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        frame(tmp_path).run(runs(then=KeyboardInterrupt()), find)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RunError("h1 is gone"), "h1 is gone"),
        (ExceptionGroup("", [RunError("h1 is gone")]), "h1 is gone"),
        (TimeoutError(), "no answer in time"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
    ],
)
def test_a_run_that_fails_says_why_in_one_line_and_others_are_kept(
    error: Exception, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CommandError, match=said):
        frame(tmp_path).run(runs(1, then=error), find)
    told = capsys.readouterr()
    assert json.loads(told.out) == json.loads((tmp_path / "results.json").read_text()) == [1]
    assert told.err == "groupflow: a run failed; 1 runs are kept\n"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match="choose another --out"):
        frame(tmp_path / "file" / "out").run(runs(1), find)
