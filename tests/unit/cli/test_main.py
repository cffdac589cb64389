"""The command as a whole: version, completion, exit codes."""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from groupflow.cli.command import Exit, Parser

from groupflow.cli.main import build_parser, main

PAGE = Path(__file__).parents[3] / "docs/reference/command-line.md"


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(r"groupflow \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_bash_takes_what_completes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("--tls-pin", "completion", "--members", "gather"))
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_that_tells_a_result_has_json() -> None:
    silent = ["bmv2-agent", "completion", "controller run", "net down", "net exec", "net import", "net up"]
    assert sorted(_without_json(cast(Parser, build_parser()))) == [*silent, "play", "schema"]
    assert build_parser().parse_args(["trace", "s1", "--json"]).format == "json"


@pytest.mark.slow
def test_no_help_doubles_a_percent_sign() -> None:
    """argparse wants it doubled in the help of an option, and shows it doubled in what stands below."""
    assert [
        each.prog for each in _all_parsers(cast(Parser, build_parser())) if "%%" in each.format_help()
    ] == []


def _all_parsers(parser: Parser) -> Iterator[Parser]:
    parser.complete()
    yield parser
    actions: list[Any] = cast(Any, parser)._actions
    for each in actions:
        for below in set(each.choices.values()) if each.nargs == argparse.PARSER else ():
            yield from _all_parsers(below)


def _without_json(parser: Parser) -> Iterator[str]:
    parser.complete()
    actions: list[Any] = cast(Any, parser)._actions
    below = [one for each in actions if each.nargs == argparse.PARSER for one in each.choices.values()]
    if not below and not any("--json" in each.option_strings for each in actions):
        yield parser.prog.removeprefix("groupflow ")
    for each in below:
        yield from _without_json(each)


def test_a_start_loads_nothing_slow() -> None:
    program = """
import sys
from groupflow.cli.main import build_parser
build_parser()
slow = {"grpc", "fastapi", "httpx", "finsy", "numpy", "rich", "mininet", "importlib.metadata"}
print(sorted(slow & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_page_has_every_exit_code() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \|", PAGE.read_text(), re.MULTILINE)
    assert rows == [(str(code.value), code.name.lower()) for code in Exit]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (["sim", "run", "x.yaml", "--plots"], 2),
        (["sim", "run", "x.yaml", "--next", "3"], 2),
        (["controller", "run", "--topology", "x.yaml", "--cache-bytes", "-1"], 2),
        (["controller", "run", "--topology", "/nonexistent.yaml"], 4),
        (
            [
                "switch",
                "switch",
                "bmv2-agent",
                "s1",
                "--thrift",
                "127.0.0.1:1",
                "--iface",
                "x",
                "--refresh",
                "0s",
            ],
            2,
        ),
        (["session", "set", "7"], 2),
        (
            [
                "ctl",
                "place",
                "--topology",
                "/nonexistent.yaml",
                "--sender",
                "h1",
                "--members",
                "h2",
                "--agents",
                "1",
            ],
            4,
        ),
        (["gather", "send", "--to", "127.0.0.1:1", "--client", "c", "--plain", "--file", "/none"], 4),
    ],
)
def test_exit_codes_are_those_of_the_page(
    line: list[str], code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(line) == code
    assert len(capfd.readouterr().err.splitlines()) == 1
