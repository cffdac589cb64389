"""The search for papers, and their lines in `groupflow reproduce`."""

import ast
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from groupflow.cli.main import main
from groupflow.study import checkout
from groupflow.study.experiment import StudyOptions

PAPERS = checkout.ROOT / "papers"
ABOVE = ("papers", "experiments")
TEA = """
from groupflow.study.experiment import Experiment, Simulation

KIND = Simulation(print, list, list, str, float)
HOT = KIND.study("scenario-hot", "whether tea is hot", list, lambda found: [], print, "figure-1")
OLD = KIND.beyond("old", "whether tea is old", list, lambda found: [], print)
EXPERIMENT = Experiment("leaves in water", [HOT, OLD], default=lambda quick: [HOT])
"""


def test_help_lists_every_paper_and_only_takes_all_that_it_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--help"]) == 0
    said = capsys.readouterr().out
    listed = re.findall(r"^ {6}([\w-]+(?:, [\w-]+)*) ", said.partition("papers:")[2], re.MULTILINE)
    known = list[str]()
    for name in ("amcb", "cmt", "icn2011", "sakajiri", "takano"):
        paper = checkout.load("papers", name)
        assert f"  {name} " in said and paper.about in said
        ids = [id for study in paper.studies for id in study.ids]
        known += ids
        assert len(set(ids)) == len(ids)
        assert [paper.chosen(StudyOptions(Path(), only=(id,))) for id in ids] == [
            [study] for study in paper.studies for _ in study.ids
        ]
    assert [id for ids in listed for id in ids.split(", ")] == known
    assert {"figure-8", "table-1", "scenario-3", "rivals"} <= set(known)


@pytest.mark.parametrize(
    ("parent", "name"),
    [(parent, name) for parent in get_args(checkout.Parent) for name in checkout.names(parent)],
)
def test_every_option_that_is_taken_changes_the_runs(parent: checkout.Parent, name: str) -> None:
    experiment = checkout.load(parent, name)
    runs = {
        (quick, seed): [study.planned(quick, seed) for study in experiment.studies]
        for quick in (False, True)
        for seed in (1, 7)
    }
    assert (runs[False, 1] != runs[False, 7]) == ("seed" in experiment.takes)
    assert (runs[False, 1] != runs[True, 1]) == ("quick" in experiment.takes)
    assert (len(experiment.studies) > 1) == ("only" in experiment.takes)


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("experiment tree", "--seed 7"),
        ("experiment tree", "--jobs 2"),
        ("experiment diffusion", "--seed 7"),
        ("experiment tree", "--switch bmv2"),
        ("experiment tree", "--only tree"),
        ("bench line", "--quick"),
        ("demo", "--jobs 1"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused_in_one_line(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), *option.split()]) == 2
    error = capsys.readouterr().err
    assert f"unrecognized arguments: {option.split()[0]}" in error and error.count("\n") == 1


def in_a_new_process(program: str, folder: Path) -> str:
    """The output of a Python program that runs in a folder."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_papers_are_listed_without_matplotlib(tmp_path: Path) -> None:
    program = """
import sys
from groupflow.study import checkout
papers = [checkout.load("papers", name).about for name in checkout.names("papers")]
print(papers and "matplotlib" in sys.modules)
"""
    assert in_a_new_process(program, tmp_path) == "False"


TASTE = """
from groupflow.study.experiment import Experiment, Study, always
from groupflow.study.experiment import Findings

def measure(frame):
    print(frame.options.only, frame.options.out)
    yield from frame.runs

EXPERIMENT = Experiment(
    "100 % of the cups", [Study("milk", "with milk", always(1)), Study("tea", "without", always(2))],
    takes=("only",), measure=measure, find=lambda frame, done: Findings({}, done, [f"{done} tasted"]),
)
"""


@pytest.fixture
def empty_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Has no paper and no experiment yet."""
    for name in ABOVE:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in loaded():
        monkeypatch.delitem(sys.modules, name)
    yield tmp_path
    for name in loaded():
        del sys.modules[name]


def loaded() -> list[str]:
    return [name for name in sys.modules if name.split(".")[0] in ABOVE]


def add_experiment(root: Path, name: str, text: str) -> None:
    (root / "experiments" / name).mkdir()
    (root / "experiments" / name / "run.py").write_text(text)


def add_paper(root: Path, name: str, text: str) -> None:
    (root / "papers" / name).mkdir()
    (root / "papers" / name / "reproduction.py").write_text(text)


def test_a_new_paper_is_one_folder(empty_checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_paper(empty_checkout, "tea", TEA)
    assert checkout.names("papers") == ["tea"]
    assert main(["reproduce", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.endswith(
        "papers: tea leaves in water"
        " run where none is named: scenario-hot, figure-1 whether tea is hot"
        " run where it is named: old whether tea is old"
    )
    assert main(["reproduce", "takano"]) == 4
    assert "PAPER takano: unknown; the papers are tea" in capsys.readouterr().err


def test_a_new_experiment_is_one_folder(
    empty_checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(empty_checkout)
    add_experiment(empty_checkout, "taste", TASTE)
    assert main(["experiment", "--help"]) == 0
    assert "taste 100 % of the cups run where none is named: milk with milk tea without" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main(["experiment", "taste", "--help"]) == 0
    assert "milk with milk tea without" in " ".join(capsys.readouterr().out.split())
    assert main(["experiment", "taste", "--only", "milk"]) == 0
    told = capsys.readouterr().out
    assert told == "('milk',) out/experiment/taste\n[1] tasted\ndata: out/experiment/taste\n"
    assert main(["experiment", "smell"]) == 4
    assert capsys.readouterr().err == "groupflow: EXPERIMENT smell: unknown; the experiments are taste\n"
    assert main(["experiment", "taste", "--nosuch"]) == main(["experiment"]) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import no_such_module", "cannot be loaded: No module named 'no_such_module'"),
        ("EXPERIMENT = 'milk'", "experiments.milk.run has no EXPERIMENT"),
        ("1 / 0", "division by zero"),
    ],
)
def test_a_broken_experiment_does_not_hide_the_others(
    text: str, said: str, empty_checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_experiment(empty_checkout, "milk", text)
    add_experiment(empty_checkout, "taste", TASTE)
    assert main(["experiment", "--help"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert said in listed and "100 % of the cups" in listed
    assert main(["experiment", "milk", "--quick"]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_the_experiments_are_all_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "--help"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    own = {"bench", "demo"}
    names = set(checkout.names("experiments"))
    assert own | {"gather", "split"} <= names
    for name in names - own:
        assert f"{name} {checkout.load('experiments', name).about}" in listed
    for name in own:  # these are commands, and not also experiments
        assert f"{name} {checkout.load('experiments', name).about}" not in listed
        assert main(["experiment", name]) == 4
        assert f"EXPERIMENT {name}: unknown" in capsys.readouterr().err


@pytest.mark.slow
def test_the_example_of_a_paper_runs(empty_checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guide = ast.get_docstring(ast.parse((PAPERS / "__init__.py").read_text())) or ""
    add_paper(empty_checkout, "rounds", textwrap.dedent(guide.partition(" is whole:\n")[2]))
    assert main(["reproduce", "--help"]) == 0
    assert "figure-1                  rounds of repair on a lossy link" in capsys.readouterr().out
    assert main(["reproduce", "rounds", "--jobs", "2", "--json", "--out", str(empty_checkout / "out")]) == 0
    assert [claim["holds"] for claim in json.loads(capsys.readouterr().out)["claims"]] == [True]
    assert len((empty_checkout / "out" / "figure-1.csv").read_text().splitlines()) == 1 + 2 * 5
    assert (empty_checkout / "out" / "figure-1.png").stat().st_size > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "import no_such_module",
            "papers.milk.reproduction cannot be loaded: No module named 'no_such_module'",
        ),
        ("def", "papers.milk.reproduction cannot be loaded: invalid syntax"),
        ("", "papers.milk.reproduction has no EXPERIMENT"),
        ("EXPERIMENT = 'milk'", "papers.milk.reproduction has no EXPERIMENT"),
    ],
)
def test_a_broken_paper_does_not_hide_the_others(
    text: str, said: str, empty_checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_paper(empty_checkout, "milk", text)
    add_paper(empty_checkout, "tea", TEA)
    assert main(["reproduce", "--help"]) == 0
    listed = capsys.readouterr().out
    assert said in listed and "leaves in water" in listed
    assert main(["reproduce", "milk"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"groupflow: {said}") and error.count("\n") == 1


def test_a_mistake_of_any_kind_is_a_line_of_the_help(
    empty_checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_paper(empty_checkout, "milk", "1 / 0")
    assert main(["reproduce", "--help"]) == 0
    assert "division by zero" in capsys.readouterr().out


def test_the_papers_are_those_of_the_checkout(tmp_path: Path) -> None:
    """A program's folder is first on sys.path, and may have a package of that name."""
    decoy = tmp_path / "papers" / "__init__.py"
    decoy.parent.mkdir()
    decoy.touch()
    load = "from groupflow.study import checkout; print(checkout.load('papers', 'amcb').about)"
    assert in_a_new_process(load, tmp_path) == checkout.load("papers", "amcb").about
    late = """
import papers
from groupflow.study import checkout
from groupflow.study import StudyError
try:
    checkout.load("papers", "amcb")
except StudyError as error:
    print(error)
"""
    assert in_a_new_process(late, tmp_path).startswith(f"{decoy} is another package papers")


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("reproduce takano", "papers"),
        ("experiment tree", "experiments"),
        ("experiment --help", "experiments"),
        ("demo", "experiments"),
        ("bench tree", "experiments"),
    ],
)
def test_without_a_checkout_the_cure_is_told(
    command: str,
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    assert main(command.split()) == 1
    error = capsys.readouterr().err
    assert f"{tmp_path / what} is missing" in error and "make setup" in error and error.count("\n") == 1
    assert main(["reproduce", "--help"]) == 0
    assert f"{tmp_path / 'papers'} is missing" in capsys.readouterr().out
