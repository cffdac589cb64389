"""Refusals of `groupflow validate` and `groupflow bench` before they run anything."""

import pytest

from groupflow.cli.main import main


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("validate --help", 0, "--reuse"),
        ("validate nosuch", 4, "line4-tahoe"),
        ("validate --nosuch", 2, "unrecognized"),
        ("bench --help", 0, "dispatchers"),
        ("bench nosuch", 2, "PART: nosuch: there are pipeline, line"),
        ("experiment bench nosuch", 2, "PART: nosuch: there are pipeline, line"),
    ],
)
def test_it_answers_and_runs_nothing(
    command: str, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == status
    shown = capsys.readouterr()
    assert said in shown.out + shown.err
