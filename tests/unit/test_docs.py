"""The documentation's examples are true: commands are accepted, programs parse, links lead somewhere."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from groupflow import Switch
from groupflow.cli.main import build_parser
from groupflow.network import topology

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_exist(page: Path) -> None:
    named = re.findall(
        r"`((?:p4src|dataplane|examples|controller|topologies|docs|tests)/[\w./-]*)`", page.read_text()
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_python_examples_compile() -> None:
    examples = blocks(PAGES[0], "python")
    assert len(examples) == 2
    for example in examples:
        compile(example, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_the_topology_example_is_one() -> None:
    (example,) = blocks(PAGES[0], "yaml")
    assert set(topology.parse(example, "README.md").hosts) == {"h1", "h2", "c1"}


def test_commands_are_accepted() -> None:
    text = PAGES[0].read_text()
    commands = [c for c in re.findall(r"`(groupflow (?:send|recv|ctl)[^`]*)`", text) if c != "groupflow ctl"]
    assert len(commands) >= 3
    for command in commands:
        build_parser().parse_args(shlex.split(command)[1:])


def test_the_examples_commands_are_accepted() -> None:
    commands = re.findall(r"(examples/[\w./]+) (\w+)", (ROOT / "docs" / "examples.md").read_text())
    assert {Path(path).name for path, _ in commands} == {"file_distribution.py", "chat.py", "video.py"}
    for path, word in commands:
        done = subprocess.run(
            [sys.executable, str(ROOT / path), word, "--help"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in re.findall(r"`?make ([a-z][a-z0-9-]+)", page.read_text()):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name}: make {target}"


def test_the_traffic_managers_example_works(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks(ROOT / "docs" / "traffic-manager.md", "python")
    program = ROOT / "dataplane" / "switch" / "tests" / "programs" / "queues.json"
    switch = Switch.load(program, program.with_suffix(".p4info.txtpb"))
    exec(compile(example, "traffic-manager.md", "exec"), {"switch": switch})
    assert capsys.readouterr().out == "1000pps 0.0\n"
