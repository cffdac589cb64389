"""The rules of imports in pyproject.toml, and that each of them finds what it forbids."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LINT = Path(sys.executable).with_name("lint-imports")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Of the packages in that folder."""
    return subprocess.run(
        [LINT, "--no-cache", "--config", ROOT / "pyproject.toml"],
        cwd=folder,
        env={"PYTHONPATH": f"{folder}:{folder / 'controller'}"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_rules_hold() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("controller", "papers", "experiments"):
        shutil.copytree(ROOT / name, folder / name, ignore=no_sources)
    return folder


def no_sources(_: str, names: list[str]) -> set[str]:
    """All but modules and folders."""
    return {name for name in names if "." in name and not name.endswith(".py")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("controller/groupflow/units.py", "import groupflow.sim", "arrows"),
        ("controller/groupflow/control/events.py", "def f(): import groupflow.tree.service", "arrows"),
        ("controller/groupflow/new/__init__.py", "", "arrows"),
        ("controller/groupflow/cli/send.py", "def f(): import papers.amcb", "beside it"),
        ("controller/groupflow/cli/send.py", "import experiments.demo", "beside it"),
        ("papers/cmt/figure_1.py", "import groupflow.lab.network", "papers are simulated"),
        ("papers/cmt/figure_1.py", "import papers.takano.paper", "papers do not know each other"),
        ("experiments/split/plan.py", "import papers.takano.paper", "experiments import no paper"),
    ],
)
def test_a_rule_finds_what_it_forbids(file: str, line: str, broken: str, copy: Path) -> None:
    path = copy / file
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{before or ''}\n{line}\n")
    try:
        done = lint(copy)
    finally:
        path.unlink() if before is None else path.write_text(before)
    assert done.returncode == 1
    assert re.search(rf"^(.*{broken}.*)BROKEN", done.stdout, re.MULTILINE), done.stdout
