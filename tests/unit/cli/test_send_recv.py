"""`groupflow session send`, `recv` and `join` over a stand-in for gfagent."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from groupflow.cli.main import main
from tests.support.tokens import token_file

Install = Callable[[str], Path]
JOINED = """event joined ',"member":1,"mode":"e2e","policy":"strict"'"""
COMPLETE = """event complete ',"bytes":5,"seconds":1.0,"goodput_bps":40,"lost":[]'"""


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUPFLOW_TOKEN", "c0")


def test_send_passes_everything_on(gfagent: Install, tmp_path: Path) -> None:
    file = tmp_path / "f.bin"
    file.write_bytes(b"hello")
    gfagent(f"{JOINED}; {COMPLETE}")
    line = [
        "session",
        "send",
        "7",
        "--token-file",
        token_file("c0"),
        "--file",
        str(file),
        "--members",
        "3",
        "--rate",
        "5mbit",
        "--name",
        "x",
    ]
    assert main(line) == 0
    assert (tmp_path / "arguments").read_text().split() == [
        *("send", "--name", "x", "--session", "7", "--file", str(file)),
        *("--members", "3", "--rate", "5000000", "--json"),
    ]
    assert (tmp_path / "token").read_text() == "c0\n"


def test_recv_passes_everything_on(gfagent: Install, tmp_path: Path) -> None:
    gfagent(f"{JOINED}; {COMPLETE}")
    output = tmp_path / "out.bin"
    assert (
        main(
            [
                "session",
                "recv",
                "7",
                "--output",
                str(output),
                "--from",
                "start",
                "--iface",
                "e0",
                "--name",
                "x",
            ]
        )
        == 0
    )
    assert (tmp_path / "arguments").read_text().split() == [
        *("recv", "--name", "x", "--bind-iface", "e0", "--session", "7"),
        *("--output", str(output), "--from", "start", "--json"),
    ]


def test_without_a_terminal_there_are_plain_lines(
    gfagent: Install, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    gfagent(f"{JOINED}; {COMPLETE}")
    assert main(["session", "recv", "7", "--output", str(tmp_path / "o")]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "session 7: joined as member 1, e2e strict",
        "session 7: complete, 5 bytes in 1.00 s (40bit)",
    ]


def test_json_prints_the_events(gfagent: Install, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    gfagent(f"{JOINED}; {COMPLETE}")
    assert main(["session", "recv", "7", "--output", str(tmp_path / "o"), "--json"]) == 0
    events = [json.loads(line)["event"] for line in capfd.readouterr().out.splitlines()]
    assert events == ["joined", "complete"]


def test_data_to_stdout_is_not_mixed_with_events(gfagent: Install, capfd: pytest.CaptureFixture[str]) -> None:
    gfagent(f"{JOINED} >&2; printf data; {COMPLETE} >&2")
    assert main(["session", "recv", "7", "--json"]) == 0
    out, err = capfd.readouterr()
    assert out == "data"
    assert len(err.splitlines()) == 2


def test_lost_members_are_named_with_their_own_exit_code(
    gfagent: Install, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f").write_bytes(b"hello")
    gfagent("""event complete ',"bytes":5,"seconds":1.0,"goodput_bps":40,"lost":["mb1"]'; exit 3""")
    assert main(["session", "send", "7", "--file", str(tmp_path / "f")]) == 3
    assert capfd.readouterr().err.splitlines()[-1] == "groupflow: complete without mb1: lost on the way"


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (
            ["session", "send", "7", "--file", "/nonexistent/f"],
            4,
            "/nonexistent/f: no such file; name a file to send",
        ),
        (["session", "send", "7", "--file", "/tmp"], 4, "/tmp: not a regular file; name a file to send"),
        (["session", "send", "0"], 2, "'0' is no session; write a number from 1 to 16777215"),
        (["session", "send", "x", "--file", "/etc/hostname"], 2, "'x' is no session"),
        (["session", "send", "7", "--rate", "fast"], 2, "'fast' cannot be read"),
        (["session", "recv", "16777216"], 2, "'16777216' is no session"),
        (
            ["session", "recv", "7", "--output", "/nonexistent/f"],
            4,
            "/nonexistent/f: folder /nonexistent does not exist; create it first",
        ),
        (["session", "recv", "7", "--output", "/tmp"], 4, "/tmp: is a folder; name a file"),
        (["session", "join", "7"], 2, "the following arguments are required: --listen"),
        (
            ["session", "join", "7", "--listen", "0"],
            2,
            "'0' will not do; write a whole number from 1 to 65535",
        ),
    ],
)
def test_bad_input_is_one_line(
    line: list[str], code: int, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(line) == code
    (said,) = capfd.readouterr().err.splitlines()
    assert message in said


def test_a_member_stays_until_it_has_left(
    gfagent: Install, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    gfagent("""event joined ',"role":"member","member":4,"receivers":2'; event left""")
    assert (
        main(
            [
                "session",
                "join",
                "7",
                "--token-file",
                token_file("c0"),
                "--listen",
                "9000",
                "--from",
                "start",
                "--name",
                "x",
            ]
        )
        == 0
    )
    assert (tmp_path / "arguments").read_text().split() == [
        *("member", "--name", "x", "--session", "7", "--listen", "9000", "--from", "start", "--json")
    ]
    assert capfd.readouterr().err.splitlines() == ["session 7: joined as member 4, 2 in all"]


def test_a_member_that_is_put_out_says_why(gfagent: Install, capfd: pytest.CaptureFixture[str]) -> None:
    gfagent(
        """event error ',"code":"put_out","cause":"connection refused","cure":"listen","exit":1'; exit 1"""
    )
    assert main(["session", "join", "7", "--listen", "9000"]) == 1
    assert capfd.readouterr().err.splitlines() == ["groupflow: connection refused; listen"]


def test_a_refusal_is_one_line_and_its_own_exit_code(
    gfagent: Install, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = """event error ',"code":"refused","cause":"wrong token","cure":"ask for it","exit":4'; exit 4"""
    gfagent(script)
    assert main(["session", "recv", "7", "--output", str(tmp_path / "o")]) == 4
    assert capfd.readouterr().err.splitlines() == ["groupflow: wrong token; ask for it"]


@pytest.mark.parametrize(
    ("seconds", "rate", "line"),
    [
        ("null", "null", "complete, 6 bytes"),
        ("0.0043", "null", "complete, 6 bytes in 4.3 ms"),
        ("0.0043", "11163", "complete, 6 bytes in 4.3 ms (11.2kbit)"),
        ("12.345", "4", "complete, 6 bytes in 12.35 s (4bit)"),
    ],
)
def test_what_was_not_measured_is_not_told(
    seconds: str, rate: str, line: str, gfagent: Install, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    gfagent(f"""event complete ',"bytes":6,"seconds":{seconds},"goodput_bps":{rate},"lost":[]'""")
    assert main(["session", "recv", "7", "--output", str(tmp_path / "o")]) == 0
    assert capfd.readouterr().err.splitlines()[-1] == f"session 7: {line}"
