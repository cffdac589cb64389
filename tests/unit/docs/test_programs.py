"""Programs in the pages run and print what stands below them; forms in YAML are accepted."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

import groupflow
from groupflow import Switch, sim
from groupflow.files import topology
from tests.support.pasted import run_programs
from tests.unit.docs.pages import DOCS, PAGES, ROOT, Block, blocks, name, shell_lines

LESSONS = [ROOT / "README.md", *sorted((DOCS / "tutorials").glob("*.md"))]
"""pages whose programs need no root: pasted one after the other, where no checkout is"""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_programs_compile(page: Path) -> None:
    for block in blocks(page, "python"):
        program = compile(block.text, name(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if program.co_flags & inspect.CO_COROUTINE:
            assert "python -m asyncio" in block.text, "the plain prompt knows no `await`"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_calls_of_programs_fit(page: Path) -> None:
    """`groupflow.Session(...)` and the like take the arguments that a program passes."""
    for block in blocks(page, "python"):
        for call in ast.walk(ast.parse(block.text)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                owner, called = call.func.value, call.func.attr
                if isinstance(owner, ast.Name) and owner.id == "groupflow":
                    keywords: dict[str, Any] = {word.arg: None for word in call.keywords if word.arg}
                    inspect.signature(getattr(groupflow, called)).bind(*call.args, **keywords)


@pytest.mark.slow
@pytest.mark.parametrize("page", LESSONS, ids=name)
def test_programs_run_as_they_are_pasted(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lesson_folder(page, tmp_path))
    for printed, shown in run_programs(blocks(page)):
        assert printed == shown


def test_a_program_that_prints_something_else_is_noticed() -> None:
    page = [Block("python", "x = 2", ""), Block("python", "print(x)", ""), Block("text", "3\n", "")]
    assert list(run_programs(page)) == [("2\n", "3\n")]


@pytest.mark.parametrize(
    "text",
    ["for _ in range(2):\n    pass\nprint()", "print((", "await x", "1 / 0", "def f():\n    x = 1\n\n    y"],
)
def test_a_program_that_cannot_be_pasted_is_noticed(text: str) -> None:
    with pytest.raises((SyntaxError, ZeroDivisionError)):
        list(run_programs([Block("python", text, "")]))


def lesson_folder(page: Path, folder: Path) -> Path:
    """A folder without a checkout, with the files that the page says to write."""
    (folder / "out").mkdir(exist_ok=True)
    for block in blocks(page):
        if told := re.search(r"`(out/\w+\.\w+)`:\n\n\Z", block.before):
            (folder / told[1]).write_text(block.text)
    return folder


def test_a_lesson_has_programs() -> None:
    """The tests above run something."""
    ran = [block for page in LESSONS for block in blocks(page, "python")]
    assert len(ran) >= 5


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_forms_are_accepted(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "yaml"):
        form = cast(dict[str, object], yaml.safe_load(block.text))
        if "links" in form and "duration" in form:
            (tmp_path / "scenario.yaml").write_text(block.text)
            sim.load(tmp_path / "scenario.yaml")
        elif "links" in form:
            topology.parse(block.text, name(page))


def test_the_traffic_managers_example_works(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks(DOCS / "reference/traffic-manager.md", "python")
    program = ROOT / "dataplane/switch/tests/programs/queues.json"
    switch = Switch.load(program, program.with_suffix(".p4info.txtpb"))
    exec(compile(example.text, "traffic-manager.md", "exec"), {"switch": switch})
    assert capsys.readouterr().out == "1000pps 0.0\n"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_simulations_run_as_they_are_pasted(page: Path, tmp_path: Path) -> None:
    """Those of files of the checkout; without root."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for line in shell_lines(page):
        if re.match(r"groupflow sim \w+ examples/", line):
            command = [str(Path(sys.executable).parent / "groupflow"), *shlex.split(line, comments=True)[1:]]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{line}: {done.stderr}"


@pytest.mark.slow
def test_the_examples_commands_are_accepted() -> None:
    page = (DOCS / "tutorials/examples.md").read_text()
    commands = re.findall(r"(examples/[\w./]+) (\w+)", page)
    assert {Path(path).name for path, _ in commands} == {"file_distribution.py", "video.py"}
    for path, word in commands:
        done = subprocess.run(
            [sys.executable, str(ROOT / path), word, "--help"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
