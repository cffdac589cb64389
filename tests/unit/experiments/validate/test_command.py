"""Refusals of `python -m experiments.validate` before it runs anything."""

import pytest

from experiments.validate.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [(["--help"], 0, "--reuse"), (["nosuch"], 2, "line4-tahoe"), (["--nosuch"], 2, "unrecognized")],
)
def test_it_answers_and_runs_nothing(
    arguments: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == status
    shown = capsys.readouterr()
    assert said in shown.out + shown.err
