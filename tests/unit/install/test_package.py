"""Declarations of the package: its version in one place, its dependencies, and the wheel of maturin."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import metadata, version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKSPACE = tomllib.loads((ROOT / "dataplane/Cargo.toml").read_text())["workspace"]["package"]
PINNED = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE))


def output(*command: str | Path) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_everything_has_the_version_of_the_workspace() -> None:
    assert PROJECT["dynamic"] == ["version"] and version("groupflow") == WORKSPACE["version"]
    for program in ("gfswitch", "gfagent"):
        assert output(BIN / program, "--version").split() == [program, WORKSPACE["version"]]
    assert f"\n## [{WORKSPACE['version']}]\n" in (ROOT / "CHANGELOG.md").read_text()


def test_what_is_declared_is_what_is_pinned() -> None:
    declared = {text.partition(">")[0] for text in declarations()}
    lines = (ROOT / "requirements.in").read_text().splitlines()
    wanted = {line for line in lines if not line.startswith("#")}
    assert wanted - {"setuptools<81"} == declared  # Debian's Mininet imports setuptools' distutils
    assert declared <= PINNED.keys()


def declarations(*without: str) -> list[str]:
    """Of what the package needs, and its extras but some."""
    extras = PROJECT["optional-dependencies"]
    return [*PROJECT["dependencies"], *(text for name in extras.keys() - without for text in extras[name])]


def test_dependencies_have_bounds_that_the_tested_version_is_within() -> None:
    for text in declarations("test", "lint", "build"):
        found = re.fullmatch(r"([\w-]+)>=([\d.]+),<([\d.]+)", text)
        assert found, f"{text}: no lower or no upper bound"
        name, (least, beyond) = found[1], map(numbers, found.groups()[1:])
        tested = numbers(PINNED[name])
        assert least == tested[: len(least)] and tested < beyond, f"{text}: tested with {PINNED[name]}"
    (finsy,) = [text for text in PROJECT["dependencies"] if text.startswith("finsy")]
    major, minor, *_ = numbers(PINNED["finsy"])
    assert finsy.endswith(f"<{major}.{minor + 1}"), (
        "its inner modules are imported, which any version may change"
    )


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_the_installed_metadata_say_whose_and_what_for_the_package_is() -> None:
    """What maturin writes, into a wheel too (tests/network/test_wheel.py)."""
    found = metadata("groupflow")
    assert found["Author"] == "groupflow contributors"
    assert found["License-Expression"] == "Apache-2.0" and found["License-File"] == "LICENSE"
    assert found.get_all("Classifier") == PROJECT["classifiers"]
    assert len(found["Keywords"].split(",")) == len(PROJECT["keywords"])
    assert "finsy" in str(found.get_all("Requires-Dist")) and found["Requires-Python"] == ">=3.11"


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
