"""At the prompt a mistake is one line, and nothing but `exit` ends the network."""

from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace

import pytest

from groupflow.lab.console import Console, Left

CASES = [
    ("x h9", "h9: no such node; nodes are h1"),
    ("x", "write: x h1 xterm"),
    ("x h1", "no display"),
    ("xterm h9", "h9: no such node"),
    ("gterm", "write: gterm h1"),
    ("source nosuch", "nosuch: no such file"),
    ("source", "write: source FILE"),
    ("source /tmp", "/tmp: no such file"),
    ("source 'a", "no closing quotation"),
    ("py exit()", "Python's exit ends no network"),
    ("px import sys; sys.exit(3)", "Python's exit ends no network"),
    ("h9 ls", "h9: no such command or node"),
    ("h1", "write a command for h1"),
    ("noecho", "no such command or node"),
    ("h1 " + 5000 * "a", "the command is too long"),
    ("switch s1", "TypeError: "),
]


class Prompt(Console):
    def run(self) -> None:
        pass

    def do_switch(self, line: str) -> None:
        raise TypeError(line)


@pytest.fixture
def prompt(monkeypatch: pytest.MonkeyPatch) -> Generator[Prompt]:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(Console, "initReadline", print)
    with Path("/dev/null").open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        yield Prompt({"h1": SimpleNamespace()})


@pytest.mark.parametrize(("line", "error"), CASES, ids=[line[:20] for line, _ in CASES])
def test_a_mistake_is_one_line(
    prompt: Prompt, capsys: pytest.CaptureFixture[str], line: str, error: str
) -> None:
    assert prompt.onecmd(prompt.precmd(line)) is False
    told = capsys.readouterr().err
    assert error in told and len(told.splitlines()) == 1


def test_a_file_may_end_the_network_and_name_others_but_not_itself(
    prompt: Prompt, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a").write_text(f"nodes # all\n# nothing\nsource {tmp_path}/b\nsource {tmp_path}/a\n")
    (tmp_path / "b").write_bytes(b"\xff\nnosuch\n")
    assert prompt.onecmd(f"source {tmp_path}/a") is False
    told = capsys.readouterr().err
    assert "nosuch: no such command" in told and f"{tmp_path}/a: it is being read already" in told
    (tmp_path / "b").write_text("exit\nnodes\n")
    assert prompt.onecmd(f"time source {tmp_path}/a") is False
    assert prompt.onecmd(f"source '{tmp_path}/b'") is True


def test_a_signal_ends_the_network_during_a_command(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(_: str) -> None:
        raise Left(0)

    monkeypatch.setattr(prompt, "do_sh", leave)
    with pytest.raises(Left):
        prompt.onecmd("sh sleep 9")


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("nodes # all", "nodes "),
        ("# all", ""),
        ("h1 echo 'a # b' \"# c\" # d", "h1 echo 'a # b' \"# c\" "),
        ("send h1 a#b.txt", "send h1 a#b.txt"),
        ("h1 echo don't # say", "h1 echo don't "),
        ("h1 echo \\# \\", "h1 echo \\# \\"),
        ("'a'#b " + 40 * "'", "'a'#b " + 40 * "'"),
    ],
)
def test_comments_begin_words(prompt: Prompt, line: str, kept: str) -> None:
    assert prompt.precmd(line) == kept


def test_input_of_a_file_is_no_input_of_programs(
    prompt: Prompt, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("sh cat; echo ended\nsh echo next\n")
    prompt.onecmd(f"source {tmp_path}/a")
    assert capfd.readouterr().out == "ended\nnext\n"
