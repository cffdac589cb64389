"""`groupflow probe` from its command line to its output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from groupflow.cli.main import main
from tests.support.tokens import token_file

QUICK = ("--buffers", "16KiB,64KiB", "--connections", "1,2", "--time", "0.8s")


@contextmanager
def serving(*more: str) -> Generator[tuple[subprocess.Popen[str], dict[str, object]]]:
    """The command in a process of its own, and its line when it is ready."""
    command = [sys.executable, "-m", "groupflow.cli.main", "probe", "serve", "--listen", "127.0.0.1:0"]
    environment = {key: value for key, value in os.environ.items() if key != "GROUPFLOW_TOKEN"}
    with subprocess.Popen(
        [*command, "--json", *more], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


@pytest.mark.slow
def test_a_server_makes_a_token_and_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as (process, ready):
        where = f"127.0.0.1:{ready['port']}"
        assert (
            main(["probe", "run", where, "--token-file", token_file(str(ready["token"])), *QUICK, "--json"])
            == 0
        )
        told = json.loads(capsys.readouterr().out)
        assert told["buffer"] in {8192, 16384, 32768, 65536} and told["connections"] in {1, 2}
        assert told["bps"] > 1e6 and told["in_flight"] > 0 and len(told["cells"]) in {4, 5}
        assert main(["probe", "run", where, "--token-file", token_file(str(ready["token"])), *QUICK]) == 0
        shown = capsys.readouterr().out
        assert "BUFFER" in shown and "64.0 KiB" in shown and "kernel's" in shown and "recommended" in shown
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_a_given_token_is_not_told() -> None:
    with serving("--token-file", token_file("c0ffee")) as (_, ready):
        assert "token" not in ready


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "the following arguments are required: HOST[:PORT]"),
        (["127.0.0.1"], 2, "the token is missing: name its file with --token-file"),
        (["127.0.0.1:port", "--token-file", token_file("c0")], 2, "is no address; write HOST:PORT"),
        (["127.0.0.1:0", "--token-file", token_file("c0")], 2, "is no address"),
        (["127.0.0.1:1", "--token-file", token_file("c0")], 1, "127.0.0.1:1: connection refused; start"),
        (
            ["127.0.0.1", "--token-file", token_file("c0"), "--connections", "99"],
            2,
            "99 connections; choose 1 to 64",
        ),
        (["127.0.0.1", "--token-file", token_file("c0"), "--time", "1s"], 2, "for 27 measurements"),
        (["127.0.0.1", "--token-file", token_file("c0"), "--buffers", "many"], 2, "is no size"),
        (
            ["127.0.0.1", "--token-file", token_file("c0"), "--connections", "few"],
            2,
            "is not a list of numbers; write",
        ),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GROUPFLOW_TOKEN", raising=False)
    assert main(["probe", "run", *arguments]) == code
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "run", "--help"]) == 0
    assert "example: groupflow probe run 10.0.2.1" in capsys.readouterr().out
