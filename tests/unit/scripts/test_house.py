"""The house stays within its bounds, and what measures it counts as it says."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from scripts.commands import MADE
from scripts.house import BOUNDS, GENERATED, ROOT, command_line, measure, over, pages, source_lines

MEASURED, WORDS = measure()


@pytest.mark.parametrize("name", asdict(BOUNDS))
def test_the_house_is_within_its_bounds(name: str) -> None:
    assert asdict(MEASURED)[name] <= asdict(BOUNDS)[name]


def test_comments_fit_the_formatters_width() -> None:
    """The formatters leave comments as they are. A command of a test program may have a long number."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [ROOT / name for name in listed.stdout.splitlines() if name.endswith((".rs", ".py", ".p4"))]
    wide = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in files
        if file.exists()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 110 and line.lstrip().startswith(("//", "# ")) and not line.startswith("// insert ")
    ]
    assert not wide, "\n".join(wide)


def test_only_a_measure_above_its_bound_is_over() -> None:
    assert over(BOUNDS) == []
    assert over(replace(BOUNDS, lines=BOUNDS.lines + 1, options=BOUNDS.options + 1)) == ["lines", "options"]


def test_lines_of_tests_and_of_other_files_are_no_source(tmp_path: Path) -> None:
    for name in (
        "a.py",
        "b/c.rs",
        "d.p4",
        "tests/e.py",
        "b/tests/f.rs",
        "g.md",
        "unlisted.py",
        "dataplane/compiler/src/h.rs",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n2\n")
    listed = [name.name for name in tmp_path.iterdir() if name.name != "unlisted.py"]
    for command in (["init", "-q"], ["add", *listed]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert source_lines(tmp_path) == 6
    assert source_lines(tmp_path, compiler=True) == 2


def test_every_page_and_every_command_is_measured() -> None:
    assert list(WORDS) == [str(page.relative_to(ROOT)) for page in pages()]
    assert "docs/README.md" in WORDS and "docs/how-to/watch.md" in WORDS
    commands = command_line()
    assert len(commands) > 60 and sum(commands.values()) == MEASURED.options
    assert commands["groupflow"] == 6  # --version, and what every command takes
    assert commands["groupflow net play"] == 1 and commands["groupflow net list"] == 0


def test_a_page_that_a_program_makes_does_not_count(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "made.md").write_text(f"{GENERATED}\n# Title\n")
    (folder / "page.md").write_text(f"# Title\n{GENERATED}\n")
    assert pages(tmp_path) == [folder / "page.md"]
    assert GENERATED == MADE


@pytest.mark.slow
def test_the_command_prints_what_is_measured() -> None:
    command = [sys.executable, "scripts/house.py", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == bool(over(MEASURED)), done.stderr
    printed = json.loads(done.stdout)
    assert printed["measured"] == asdict(MEASURED) and printed["pages"] == WORDS
