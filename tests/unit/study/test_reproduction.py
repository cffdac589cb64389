"""Decisions of the frame of a paper, on a paper of numbers: runs, failures, and output."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from groupflow.cli.main import main
from groupflow.study import RefusedError, RunFailedError, StoppedError, StudyError, checkout
from groupflow.study.claims import BEYOND, Claim, finding
from groupflow.study.experiment import AnyStudy, Experiment, Simulation, Study, StudyOptions, by_case, seeded
from groupflow.study.files import Row
from groupflow.study.frame import NO_VERDICT, run


@dataclass(frozen=True)
class Number:
    """A run: the case is the number to be squared."""

    case: int
    seed: int


@dataclass(frozen=True)
class Square:
    run: Number
    value: int
    simulated_s: float = 0.5
    packet_hops: int = 2


Squares = dict[int, list[Square]]


FAILURES = {
    -1: RunFailedError("-1 has no root"),
    -2: ValueError("a mistake"),
    -3: FileNotFoundError(2, "No such file or directory", "tea.csv"),
    -4: KeyboardInterrupt(),
}
"""how a simulation of this number ends; that of -5 dies"""


def square(run: Number) -> Square:
    if run.case in FAILURES:
        raise FAILURES[run.case]
    if run.case == -5:
        os._exit(1)
    return Square(run, run.case**2)


def always_one(run: Number) -> Square:
    return square(Number(1, run.seed))


def kept(run: Number, folder: Path) -> Square:
    folder.mkdir(parents=True)
    (folder / "value").write_text(str(run.case**2))
    return square(run)


def rows(outcome: Square) -> Sequence[Row]:
    return [{"case": outcome.run.case, "value": outcome.value}]


NUMBERS: Simulation[Number, Square, Squares] = Simulation(
    square, by_case, rows, title=lambda run: str(run.case), cost=lambda run: run.case
)
KEPT: Simulation[Number, Square, Squares] = Simulation(
    kept, by_case, rows, lambda run: str(run.case), lambda run: run.case, lambda run: f"n{run.case}"
)


def study(
    name: str, *cases: int, simulation: Simulation[Number, Square, Squares] = NUMBERS
) -> Study[Number, Square, Squares]:
    def judge(found: Squares) -> list[Claim]:
        most = max(found)
        return [finding(name, "small", "squares are small", most**2, "", most**2 < 20, "below 20")]

    return simulation.study(
        name,
        f"squares of {cases}",
        seeded(lambda quick: cases[:1] if quick else cases, lambda case, seed, _: Number(case, seed), 2, 1),
        judge,
        lambda path, _: path.touch(),
    )


SMALL, LARGE, ROOTS = study("small", 1, 2), study("large", 2, 9, 9), study("roots", -1)
PAPER = Experiment(
    "squares of whole numbers",
    [
        *(SMALL, LARGE, ROOTS, study("kept", 3, simulation=KEPT), study("file", -3)),
        *(study("dies", -5), study("stopped", -4)),
    ],
    default=lambda quick: [SMALL] if quick else [SMALL, LARGE],
    across=lambda found: [
        Claim("across", "Fig. 1", "as many as expected", 6, len(found), "squares", len(found) == 6)
    ],
)


def options(out: Path, **more: Any) -> StudyOptions:
    return StudyOptions(out, jobs=1, **more)


def papers(*studies: AnyStudy) -> Experiment:
    return Experiment("", studies)


def claims(out: Path) -> dict[str, bool]:
    return {claim["id"]: claim["holds"] for claim in json.loads((out / "claims.json").read_text())}


def test_parts_share_runs_and_claims_that_do_not_hold_are_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(PAPER, options(tmp_path, seed=4))
    assert claims(tmp_path) == {"across": True, "study-small-small": True, "study-large-small": False}
    # Four squares each, of which those of 2 are the same.
    assert json.loads((tmp_path / "run.json").read_text()) | {"wall_s": 0} == {
        "wall_s": 0, "simulated_s": 3.0, "packet_hops": 12, "seed": 4, "quick": False,
        "claims": {"hold": 1, "of": 1}, "findings": {"hold": 1, "of": 2},
    }  # fmt: skip
    assert (tmp_path / "large.csv").read_text().split() == ["case,value", *["2,4"] * 2, *["9,81"] * 2]
    assert (tmp_path / "large.png").exists()
    printed = capsys.readouterr().out
    assert (
        "1 of 1 claims hold; 1 of 2 findings hold" in printed
        and "6 runs, " in printed
        and NO_VERDICT not in printed
    )


@pytest.mark.parametrize("json_asked", [False, True])
def test_short_runs_are_no_verdict(
    json_asked: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(PAPER, options(tmp_path, quick=True, json=json_asked))
    assert not claims(tmp_path)["across"]
    told = capsys.readouterr()
    people = told.err if json_asked else told.out
    assert " ".join(people.split()).count(NO_VERDICT) == (1 if json_asked else 2), "first, and at the end"
    if json_asked:
        printed = json.loads(told.out)
        assert printed["claims"] == json.loads((tmp_path / "claims.json").read_text())
        assert printed["run"] == json.loads((tmp_path / "run.json").read_text()) and printed["run"]["quick"]
    else:
        assert people.index("short runs") < people.index("claims hold")


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise error

    return fail


NO_FILE = failing(FileNotFoundError(2, "No such file or directory", "dot"))
NO_DOT = failing(StudyError("dot is missing"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("last", "kind", "said"),
    [
        (ROOTS, RunFailedError, "^-1 has no root; 4 of 6 runs kept$"),
        (study("last", -2), ValueError, "^a mistake$"),
        (
            study("last", -3),
            StudyError,
            r"^\[Errno 2\] No such file or directory: 'tea.csv'; 4 of 6 runs kept$",
        ),
        (study("last", -4), StoppedError, "^interrupted; 4 of 6 runs kept$"),
        (study("last", -5), StudyError, "abruptly.*; 4 of 6 runs kept$"),
        (replace(study("last", 5), draw=NO_DOT), StudyError, "^dot is missing; 6 of 6 runs kept$"),
        (replace(study("last", 5), draw=NO_FILE), StudyError, "'dot'; 6 of 6 runs kept$"),
        (replace(study("last", 3), judge=failing(ValueError("a mistake"))), ValueError, "^a mistake$"),
    ],
)
def test_what_is_finished_is_kept_whatever_ends_the_rest(
    last: AnyStudy, kind: type[Exception], said: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=said):
        run(papers(SMALL, last), options(tmp_path))
    assert claims(tmp_path)["study-small-small"]
    assert (tmp_path / "small.csv").exists() and (tmp_path / "run.json").exists()


@pytest.mark.parametrize("unwritable", ["claims.json", "small.csv", "."])
def test_another_folder_is_advised_where_this_one_cannot_be_written(unwritable: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    if unwritable == ".":
        out.touch()
    else:
        (out / unwritable).mkdir(parents=True)
    with pytest.raises(StudyError, match=f"^{out}.*; choose another --out"):
        run(papers(SMALL), options(out))


def test_a_drawing_that_fails_does_not_take_a_study_with_the_same_runs_along(tmp_path: Path) -> None:
    first = replace(study("first", 2), draw=NO_DOT)
    with pytest.raises(StudyError, match=r"^dot is missing; 2 of 2 runs"):
        run(papers(first, study("second", 2)), options(tmp_path))
    assert claims(tmp_path) == {"study-first-small": True, "study-second-small": True}


def nested(_: bool, __: int) -> list[Any]:
    return [NO_DOT]


def twice(_: bool, seed: int) -> list[Number]:
    return [Number(1, seed)] * 2


def test_a_run_that_is_planned_twice_is_one(tmp_path: Path) -> None:
    run(papers(replace(SMALL, runs=twice)), options(tmp_path))
    assert claims(tmp_path) == {"study-small-small": True}


@pytest.mark.parametrize(
    ("default", "said"),
    [
        ([], "nothing runs by default"),
        ([study("none")], "none has no run"),
        ([study("other", 2, simulation=replace(NUMBERS, simulate=always_one))], "names another run"),
        ([study("one", 1, 2, simulation=replace(NUMBERS, simulate=always_one))], "one: outcomes are missing"),
        (
            [study("local", 1, simulation=replace(NUMBERS, simulate=NO_DOT))],
            "simulate of local is not a function of a module: .*failing.<locals>.fail",
        ),
        ([replace(SMALL, runs=nested)], "a run of small is not picklable: .*failing.<locals>.fail"),
    ],
)
def test_a_paper_that_cannot_be_run_is_told(default: list[AnyStudy], said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=said):
        run(papers(*default), options(tmp_path))


def test_series_of_a_run_have_a_folder(tmp_path: Path) -> None:
    run(PAPER, options(tmp_path, only=("kept",), quick=True))
    assert (tmp_path / "data" / "n3" / "value").read_text() == "9"


def ids(asked: StudyOptions, of: Experiment = PAPER) -> list[str]:
    return [each.ids[0] for each in of.chosen(asked)]


def test_each_study_is_chosen_once(tmp_path: Path) -> None:
    assert ids(options(tmp_path, only=("large", "small", "large"))) == ["large", "small"]
    assert ids(options(tmp_path, only=("s*",))) == ["small", "stopped"]
    assert ids(options(tmp_path, quick=True)) == ["small"]
    drawn = replace(LARGE, figures=("figure-8",))
    assert papers(SMALL, drawn).chosen(options(tmp_path, only=("figure-8",))) == [drawn]


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"^tea: unknown; there are small, large, roots, kept, file, dies"):
        PAPER.chosen(options(tmp_path, only=("tea",)))


@pytest.mark.parametrize("more", [{"only": ("small",)}, {"quick": True}, {"seed": 2}, {"jobs": 2}])
def test_an_option_that_changes_nothing_is_refused(more: dict[str, Any], tmp_path: Path) -> None:
    (name,) = more
    with pytest.raises(RefusedError, match=f"^--{name} changes nothing here; leave it out$"):
        replace(PAPER, takes=()).chosen(StudyOptions(tmp_path, **more))


def test_a_finding_says_that_it_is_beyond_the_paper() -> None:
    found = finding("tea", "hot", "tea is hot", 80.0, "C", True, "at least 60")
    assert (found.id, found.figure, found.paper) == ("study-tea-hot", "study tea", BEYOND)
    assert found.kind == "finding"


POOL_DIED = (
    "groupflow: A process in the process pool was terminated",
    "groupflow: A child process terminated abruptly",  # before all runs were handed over
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["squares", "--quick"], 0, ""),
        (["squares", "--only", "large"], 0, ""),
        (["squares", "--only", "roots"], 1, "groupflow: -1 has no root"),
        (["squares", "--only", "file"], 1, "groupflow: [Errno 2] No such file or directory: 'tea.csv'"),
        (["squares", "--only", "dies"], 1, POOL_DIED),
        (["squares", "--only", "stopped"], 130, "groupflow: interrupted; 0 of 2 runs kept"),
        (["squares", "--only", "tea"], 4, "groupflow: tea: unknown; there are"),
        (["circles"], 4, "groupflow: PAPER circles: unknown; the papers are squares"),
    ],
)
def test_exit_codes_tell_what_ran_and_not_what_holds(
    arguments: list[str],
    code: int,
    said: str | tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = {("papers", "squares"): PAPER}
    monkeypatch.setattr(checkout, "names", {"papers": ["squares"]}.__getitem__)
    monkeypatch.setattr(checkout, "load", lambda *which: known[which])  # pyright: ignore
    assert main(["reproduce", *arguments, "--out", str(tmp_path)]) == code
    error = capsys.readouterr().err
    assert error.startswith(said) and error.count("\n") == bool(code)
