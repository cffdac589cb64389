"""`groupflow probe` from its command line to its output."""

from __future__ import annotations

import json

import pytest

from groupflow.cli.main import main
from groupflow.probe import Cell, ProbeOptions, iperf3

GRID = ("--buffers", "16KiB,64KiB", "--connections", "1,2", "--time", "12s")


async def measured(
    host: str, port: int, buffer: int | None, connections: int, options: ProbeOptions
) -> tuple[Cell, float]:
    """A path in place of iperf3."""
    assert (host, port) == ("127.0.0.1", 5999) and options.seconds == 12
    return Cell(buffer, connections, 1e6 * connections * ((buffer or 0) // 16384 + 1), 0.5), 0.01


def test_its_json_and_its_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iperf3, "run", measured)
    assert main(["probe", "run", "127.0.0.1:5999", *GRID, "--json"]) == 0
    probe = json.loads(capsys.readouterr().out)
    assert (probe["buffer"], probe["connections"], probe["bps"]) == (65536, 2, 1e7)
    assert probe["in_flight"] == 12500 and len(probe["cells"]) == 5
    assert probe["kernel"] == {"buffer": None, "connections": 1, "bps": 1e6, "busy": 0.5}
    assert main(["probe", "run", "127.0.0.1:5999", *GRID]) == 0
    shown = capsys.readouterr().out
    assert "BUFFER" in shown and "64.0 KiB" in shown and "kernel's" in shown and "recommended" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "the following arguments are required: HOST[:PORT]"),
        (["127.0.0.1:port"], 2, "is no address; write HOST:PORT"),
        (["127.0.0.1:0"], 2, "is no address"),
        (["127.0.0.1:1"], 1, "127.0.0.1:1: connection refused; start"),
        (["127.0.0.1", "--connections", "99"], 2, "99 connections; choose 1 to 64"),
        (["127.0.0.1", "--time", "1s"], 2, "for 27 measurements"),
        (["127.0.0.1", "--buffers", "many"], 2, "is no size"),
        (["127.0.0.1", "--connections", "few"], 2, "is not a list of numbers; write"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", "run", *arguments]) == code
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_without_iperf3_the_line_has_the_cure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["probe", "run", "127.0.0.1"]) == 1
    assert "iperf3 is not on PATH; run: sudo apt install iperf3" in capsys.readouterr().err


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "run", "--help"]) == 0
    assert "example: groupflow probe run 10.0.2.1" in capsys.readouterr().out
