"""Declarations of the package: its version in one place, its dependencies, and the wheel of maturin."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKSPACE = tomllib.loads((ROOT / "dataplane/Cargo.toml").read_text())["workspace"]["package"]


def output(*command: str | Path) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_everything_has_the_version_of_the_workspace() -> None:
    assert PROJECT["dynamic"] == ["version"] and version("groupflow") == WORKSPACE["version"]
    for program in ("gfswitch", "gfagent"):
        assert output(BIN / program, "--version").split() == [program, WORKSPACE["version"]]
    assert f"\n## [{WORKSPACE['version']}]\n" in (ROOT / "CHANGELOG.md").read_text()


def test_what_is_declared_is_what_is_pinned() -> None:
    extras = PROJECT["optional-dependencies"].values()
    declared = {name for names in (PROJECT["dependencies"], *extras) for name in names}
    lines = (ROOT / "requirements.in").read_text().splitlines()
    wanted = {line for line in lines if not line.startswith("#")}
    assert wanted - {"setuptools<81"} == declared  # Debian's Mininet imports setuptools' distutils
    pinned = set(re.findall(r"^([\w-]+)==", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    assert declared <= pinned


@pytest.mark.slow
@pytest.mark.parametrize(("imported", "rule"), [("yaml", None), ("flask", "DEP001"), ("anyio", "DEP003")])
def test_an_undeclared_import_is_found(imported: str, rule: str | None, tmp_path: Path) -> None:
    """Also of a package that is there because another one needs it."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "program.py").write_text(f"import {imported}\n")
    deptry = [BIN / "deptry", "--no-ansi", "--ignore", "DEP002", "."]
    done = subprocess.run(deptry, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if rule else 0), done.stderr
    assert rule is None or f"program.py:1:8: {rule} '{imported}'" in done.stderr


@pytest.mark.slow
def test_the_bindings_alone_have_the_features_of_the_workspace() -> None:
    """maturin builds that crate alone: with other features it would compile most crates anew."""

    def crates(*selected: str) -> set[str]:
        tree = ("cargo", "tree", "--offline", "--locked", "--manifest-path", ROOT / "dataplane/Cargo.toml")
        found = output(*tree, *selected, "-e", "normal,build", "--prefix", "none", "-f", "{p}: {f}")
        return {line.removesuffix(" (*)") for line in found.splitlines()}

    alone = crates("-p", "groupflow-bindings")
    assert len(alone) > 100 and alone - crates("--workspace") == set()
