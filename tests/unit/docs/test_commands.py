"""Commands in the pages exist, and take the options that the pages give them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from argparse import ArgumentParser
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

from groupflow.cli import common, table
from groupflow.cli.main import build_parser
from groupflow.errors import Error
from scripts import commands as page_of_commands
from tests.unit.docs.pages import PAGES, ROOT, inline_code, name, shell_lines

PROGRAMS = ("groupflow", "gfagent", "gfswitch")
NOUNS = {noun.name for noun in table.NOUNS} | {"reproduce", "experiment"}
COMMON = {word for option, _, _ in common.EVERYWHERE for word in option.split(", ")}
PREFIX = re.compile(r"^(?:\$ |until |sudo (?:-E )?|\.venv/bin/|[A-Z_]+=\S+ )+")


def commands(page: Path) -> list[list[str]]:
    """The complete command lines in a page's shell blocks, without sudo, folder, comment and redirection."""
    found: list[list[str]] = []
    for line in shell_lines(page):
        for part in re.split(r"[|;<>&]|\$\(|\)", uncommented(line)):
            command = PREFIX.sub("", part.strip())
            if command.startswith(tuple(f"{program} " for program in PROGRAMS)):
                found.append(shlex.split(command))
    return found


def mentions(page: Path) -> list[list[str]]:
    """The commands that a page's text names, often without their arguments."""
    found = [PREFIX.sub("", code) for code in inline_code(page)]
    return [code.split() for code in found if code.startswith(tuple(f"{program} " for program in PROGRAMS))]


@cache
def parser() -> ArgumentParser:
    return build_parser()


@cache
def help_of(program: str, *words: str) -> str:
    """The help of a command; fails where there is no such command."""
    if program == "groupflow":
        code, text = run_parser([*words, "--help"])
        assert code == 0, text
        return text
    command = [str(Path(sys.executable).parent / program), *words, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}: {done.stderr}"
    return done.stdout


def run_parser(words: list[str]) -> tuple[int, str]:
    """The exit code of groupflow's parser (0 where a command would run), and its output."""
    printed = StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            shared, rest = common.taken_out(words)
            args = parser().parse_args(rest)
            shared.refuse_unused(args.command, args.uses)
        except SystemExit as ended:
            return int(ended.code or 0), printed.getvalue()
        except Error as error:
            return error.kind.exit_code, str(error)
    return 0, printed.getvalue()


def check(command: list[str]) -> None:
    """The command's words are those of a command, and its options are in that command's help."""
    program, *words = command
    path: list[str] = []
    for word in words:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", word) or len(path) == _depth(program, path):
            break
        path.append(word)
    text = help_of(program, *path)
    for option in (word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)):
        if option != "--help" and (program != "groupflow" or option not in COMMON):
            assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text), f"{command}: {option}"


def _depth(program: str, path: list[str]) -> int:
    """The number of words that name a command that begins so."""
    if program != "groupflow":
        return 1
    return 2 if path and path[0] in NOUNS else 1


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_are_accepted(page: Path) -> None:
    for command in commands(page):
        if command[0] == "groupflow":
            code, printed = run_parser(command[1:])
            assert code == 0, f"{shlex.join(command)}: {printed}"
        else:
            check(command)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_named_commands_exist(page: Path) -> None:
    for command in mentions(page):
        if not re.match(r"[A-Z]", command[1]):  # `groupflow COMMAND --help`
            check(command)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_lines_can_be_pasted(page: Path) -> None:
    """A variable is set before it is used, and what makes networks runs as root."""
    given: set[str] = set()
    for line in map(uncommented, shell_lines(page)):
        unset = set(re.findall(r"\$\{?([A-Z_]+)", line)) - given
        assert not unset, f"{line}: {unset} is set nowhere before"
        given |= set(re.findall(r"(?:^|[ ;])([A-Z_]+)=", line))
        if re.search(
            r"^[^$(]*\bgroupflow (net (up|exec|down|list)|experiment [a-z]|demo|switch trace)", line
        ):
            assert re.match(r"(until |\$ )?sudo ", line), f"{line}: sudo is missing"


def uncommented(line: str) -> str:
    return re.split(r"(?:^|\s)#", line)[0]


def test_commands_are_found() -> None:
    found = [command for page in PAGES for command in commands(page)]
    assert len([command for command in found if command[0] == "groupflow"]) > 50
    assert len([command for command in found if command[0] != "groupflow"]) > 5


@pytest.mark.parametrize(
    "wrong",
    [
        ["groupflow", "session", "sent", "7"],
        ["groupflow", "session", "send", "--tokn", "x"],
        ["groupflow", "send", "7"],
    ],
)
def test_a_wrong_command_is_noticed(wrong: list[str]) -> None:
    with pytest.raises(AssertionError):
        check(wrong)


def test_the_page_of_all_commands_is_made_from_the_parser() -> None:
    assert page_of_commands.PAGE.read_text() == page_of_commands.page()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_make_targets_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    lines = "\n".join([*shell_lines(page), *inline_code(page)])
    for target in re.findall(r"\bmake ([a-z][a-z0-9-]+)", lines):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_modules_and_crates_exist(page: Path) -> None:
    lines = "\n".join([*shell_lines(page), *inline_code(page)])
    for module in re.findall(r"python -m ((?:experiments|tests|groupflow)[\w.]*)", lines):
        place = ROOT / module.replace(".", "/")
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), module
    manifests = {path: path.read_text() for path in (ROOT / "dataplane").glob("**/Cargo.toml")}
    for crate, example in re.findall(r"cargo \w+ .*?-p ([\w-]+)(?: --example (\w+))?", lines):
        (folder,) = [path.parent for path, text in manifests.items() if f'name = "{crate}"' in text]
        assert not example or (folder / "examples" / f"{example}.rs").exists(), example


@pytest.mark.parametrize("page", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=name)
def test_workflows_run_what_there_is(page: Path) -> None:
    """They call the Makefile and `.ci/run`, as people do, and no action but checkout and cache."""
    text = page.read_text()
    assert set(re.findall(r"uses: ([\w/-]+)@v\d+", text)) <= {"actions/checkout", "actions/cache"}
    assert len(re.findall(r"uses:", text)) == len(re.findall(r"uses: [\w/-]+@v\d+$", text, re.MULTILINE))
    for command in re.findall(r"run: (?:sudo )?(make [\w-]+|\.ci/run)$", text, re.MULTILINE):
        target = command.removeprefix("make ")
        known = re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert known or (ROOT / command).exists(), command
    assert re.search(r"make check|make test-all|\.ci/run", text)
