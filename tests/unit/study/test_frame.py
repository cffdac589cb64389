"""The frame of experiments on real networks, without a network."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from groupflow.errors import UnavailableError
from groupflow.study import RefusedError, RunFailedError, StoppedError, StudyError
from groupflow.study.experiment import AnyStudy, Experiment, Findings, Frame, Study, StudyOptions, always
from groupflow.study.frame import run


def find(_: Frame[int], done: Sequence[int]) -> Findings:
    return Findings(
        {"results.json": list(done)}, list(done), ["a table"], failed="13 is there" if 13 in done else ""
    )


def trial(
    out: Path,
    *results: int,
    then: BaseException | None = None,
    lagging: Sequence[str] = (),
    as_json: bool = True,
) -> None:
    """Runs an experiment that has these results."""

    def measure(frame: Frame[int]) -> Generator[int]:
        frame.lagging += lagging
        yield from results
        if then is not None:
            raise then

    study: AnyStudy = Study("x", "", always(1))
    run(Experiment("", [study], measure=measure, find=find), StudyOptions(out, json=as_json))


def test_the_findings_are_written_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial(tmp_path / "out", 1, 2)
    told = capsys.readouterr()
    assert json.loads(told.out) == json.loads((tmp_path / "out/results.json").read_text()) == [1, 2]
    assert told.err == ""


@pytest.mark.parametrize(
    ("results", "then", "lagging", "kind", "said"),
    [
        ((1, 2), None, ["s1: late"], StudyError, "CPU-bound, do not trust the figures: s1: late"),
        ((1, 13), None, [], StudyError, "13 is there"),
        ((1,), UnavailableError("BMv2 broke off"), [], StudyError, "BMv2 broke off; 1 run kept"),
        ((1,), KeyboardInterrupt(), [], StoppedError, "interrupted; 1 run kept"),
        ((1,), RefusedError("no h1"), [], RefusedError, "no h1; 1 run kept"),
        (
            (1, 13),
            RunFailedError("h1 is gone"),
            ["s1: late", "s2"],
            StudyError,
            "h1 is gone; 2 runs kept; 13 is there; CPU-bound, do not trust the figures: s1: late, s2",
        ),
    ],
)
def test_what_is_over_is_kept(
    results: tuple[int, ...],
    then: BaseException | None,
    lagging: list[str],
    kind: type[StudyError],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(kind) as ended:
        trial(tmp_path / "out", *results, then=then, lagging=lagging)
    assert str(ended.value) == said
    told = capsys.readouterr()
    assert json.loads(told.out) == json.loads((tmp_path / "out/results.json").read_text()) == list(results)


def test_tables_are_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial(tmp_path, 1, as_json=False)
    assert capsys.readouterr().out.split("\n")[0] == "a table"


def test_an_interrupt_before_the_first_result_finds_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoppedError, match="0 runs kept"):
        trial(tmp_path, then=KeyboardInterrupt())
    assert not list(tmp_path.iterdir())


def test_a_mistake_in_an_experiment_is_raised_as_it_is_and_results_are_kept(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        trial(tmp_path, 1, then=ZeroDivisionError())
    assert json.loads((tmp_path / "results.json").read_text()) == [1]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RunFailedError("h1 is gone"), "h1 is gone"),
        (ExceptionGroup("", [RunFailedError("h1 is gone")]), "h1 is gone"),
        (ExceptionGroup("", [CalledProcessError(1, ["ip", "link"])]), r"returned non-zero exit status 1\."),
        (TimeoutError(), "no answer in time"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
    ],
)
def test_a_run_that_fails_says_why_in_one_line_and_others_are_kept(
    error: Exception, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StudyError, match=f"{said}; 1 run kept"):
        trial(tmp_path, 1, then=error)
    told = capsys.readouterr()
    assert json.loads(told.out) == json.loads((tmp_path / "results.json").read_text()) == [1]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StudyError, match="choose another --out"):
        trial(tmp_path / "file" / "out", 1)


def test_why_a_run_failed_is_said_also_where_results_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "results.json").mkdir()
    with pytest.raises(StudyError, match=r"^h1 is gone; 1 run kept; .*results.json.*choose another --out"):
        trial(tmp_path, 1, then=RunFailedError("h1 is gone"))
