"""`groupflow gather serve` by itself: the line that names its API, and the commands that read there."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from groupflow.agents.events import Event
from groupflow.cli.common import Common, shown
from groupflow.cli.main import main

CLIENTS = """
link: 10mbit
buffer: 400KiB
clients:
  - {name: cam1, target: 4mbit, token: c0ffee}
"""


@pytest.mark.slow
def test_the_line_at_the_start_names_the_api(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = tmp_path / "clients.yaml"
    listed.write_text(CLIENTS)
    words = ("gather", "serve", "--clients", str(listed), "--discard", "--listen", "127.0.0.1:0")
    command = [sys.executable, "-m", "groupflow.cli.main", *words, "--rest", "127.0.0.1:0", "--plain"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GROUPFLOW_")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            found = re.fullmatch(
                r"gather: API at (http://127\.0\.0\.1:\d+), for `groupflow (.+) --api`\n", line
            )
            assert found, line
            ready = process.stderr.readline()
            assert re.fullmatch(r"gather: listening at 127\.0\.0\.1:\d+, not encrypted\n", ready)
            assert main([*found[2].split(), "--api", found[1]]) == 0
            assert "cam1" in capsys.readouterr().out
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        finally:
            process.kill()


def test_an_event_is_printed_as_gfagent_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    show = shown(Common(), "gather")
    show(Event("refused", 1.0, {"peer": None, "client": "cam1", "human": "client cam1: no room"}))
    show(Event("round", 1.0, {"clients": []}))
    assert capsys.readouterr().err == "gather: client cam1: no room\n"
    shown(Common(), "gather", but=("started",))(Event("started", 1.0, {"human": "x"}))
    shown(Common(quiet=True), "gather")(Event("refused", 1.0, {"human": "x"}))
    shown(Common(json=True), "gather")(Event("refused", 1.0, {"human": "x"}))
    assert capsys.readouterr() == ('{"human": "x"}\n', "")
