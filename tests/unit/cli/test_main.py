"""The command as a whole: version, completion, exit codes."""

import re
import subprocess
from pathlib import Path

import pytest

from groupflow.cli.command import Exit
from groupflow.cli.main import main

PAGE = Path(__file__).parents[3] / "docs/command-line.md"


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(r"groupflow \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_bash_takes_what_completes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert "--tls-pin" in script and "completion" in script
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_has_every_exit_code() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \|", PAGE.read_text(), re.MULTILINE)
    assert rows == [(str(code.value), code.name.lower()) for code in Exit]
