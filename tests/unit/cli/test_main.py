"""The command as a whole: version, completion, errors of one line, exit codes, and a quick start."""

import asyncio
import errno
import json
import re
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Never, cast

import pytest

from groupflow.cli import common, net
from groupflow.cli import main as command
from groupflow.cli.completion import whole
from groupflow.cli.main import build_parser, main
from groupflow.cli.table import commands
from groupflow.errors import Error, InvalidError, Kind, UnavailableError
from groupflow.lab.registry import Entry


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(r"groupflow \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_bash_takes_what_completes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("--tls-pin", "completion", "--members", "gather"))
    assert "_shtab_groupflow_session_list_option_strings=(-h --help --json --net --api --verbose -v" in script
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_that_tells_a_result_has_json() -> None:
    silent = [
        *("net up", "net down", "net exec", "net play", "controller run", "switch bmv2-agent"),
        *("session delete", "member delete", "flow delete", "client delete", "schema", "completion"),
    ]
    assert [name for name, verb in commands() if "json" not in verb.uses] == silent


def parsers(parser: ArgumentParser) -> Iterator[ArgumentParser]:
    """The parser and all below it."""
    yield parser
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if isinstance(action.choices, dict):
            for each in cast("dict[str, ArgumentParser]", action.choices).values():
                yield from parsers(each)


def test_every_command_has_a_summary_and_an_example_and_every_option_a_help() -> None:
    found = list(parsers(whole(build_parser())))
    names = {parser.prog.removeprefix("groupflow ") for parser in found}
    assert names >= {name for name, _ in commands()}
    for name, verb in commands():
        (parser,) = (each for each in found if each.prog == f"groupflow {name}")
        assert parser.description and re.match("example: groupflow ", parser.epilog or ""), name
        assert (verb.summary or parser.description)[0].isalpha(), name
    for parser in found:
        text = parser.format_help()
        assert "%%" not in text and "%(" not in text, parser.prog
        for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
            if not isinstance(action.choices, dict):
                assert action.help, (parser.prog, action.dest)
                assert action.dest not in ("command", "uses", "run"), "main's own"


def test_the_examples_are_command_lines_that_the_parser_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token").write_text("c0ffee")
    for name, verb in commands():
        if verb.function.startswith("experiments:") and verb.name != "sweep":
            continue  # of a checkout
        for line in verb.example.split("\n"):
            words = [*name.split(), *line.replace("$PIN", "ab" * 32).partition(" > ")[0].split()]
            shared, rest = common.taken_out(words)
            args = build_parser().parse_args(rest)
            shared.refuse_unused(args.command, args.uses)
            assert args.command == name


def test_a_start_loads_nothing_slow() -> None:
    program = """
import sys
from groupflow.cli.main import build_parser
parser = build_parser()
slow = {"pydantic", "grpc", "fastapi", "httpx", "finsy", "numpy", "rich", "mininet", "importlib.metadata"}
print(sorted(slow & sys.modules.keys()))
try:
    parser.parse_args(["--help"])
except SystemExit:
    pass
print(sorted(slow & sys.modules.keys()))
for noun in {NOUNS}:
    try:
        parser.parse_args([noun, "--help"])
    except SystemExit:
        pass
print(sorted(slow & sys.modules.keys()))
"""
    nouns = sorted({name.split()[0] for name, _ in commands() if " " in name})
    done = subprocess.run(
        [sys.executable, "-c", program.replace("{NOUNS}", str(nouns))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line for line in done.stdout.splitlines() if line.startswith("[")] == ["[]"] * 3


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("sim run x.yaml --plots", 2, "groupflow: --plots needs a folder: give --out FOLDER"),
        ("sim run x.yaml --next 3", 2, "choose packets: give --trace"),
        ("sim run none.yaml", 4, "none.yaml: no such file"),
        (
            "controller run --topology x.yaml --cache -1", 2,
            "groupflow controller run: argument --cache: '-1' is no size; write a number of bytes, or like"
            " 64MiB; see groupflow controller run --help",
        ),
        ("controller run --topology /none.yaml", 4, "groupflow: /none.yaml: no such file or directory"),
        ("agent set dispatcher d --hosts 65536", 2, "write a whole number from 1 to 65535"),
        (
            "session watch 7 --interval 0s", 2,
            "argument --interval: '0s' will not do; write a time above 0, as in '1s'",
        ),
        (
            "tree island --to 127.0.0.1:1 --plain --session 7 --slow skip", 2,
            "groupflow: --slow skip loses data, but a session needs every byte",
        ),
        (
            "tree island --to 127.0.0.1:1 --plain --session 7 --outward --parallel 2", 2,
            "groupflow: --parallel counts connections to a parent, and the source has none; leave it out",
        ),
        ("tree recv --to 127.0.0.1:0 --plain", 2, "argument --to: '127.0.0.1:0' is no address; write IP"),
        (
            "session create 7 --polcy isolate", 2,
            "groupflow session create: unrecognized arguments: --polcy isolate; did you mean --policy",
        ),
        ("session show 7 8", 2, "groupflow session show: unrecognized arguments: 8; leave it out"),
        ("session recv 7", 2, "the token is missing: name its file with --token-file, or set"),
        ("session set 7", 2, "groupflow: nothing to change; give --mode, --policy or --window"),
        ("session create 7 --lifetime 60", 2, "'60' cannot be read; write a number with ns, us, ms or s"),
        ("agent place --topology /a.yaml --sender h1 --member h2 --agents 1", 4, "/a.yaml: no such file"),
        ("gather send --to 127.0.0.1:1 --client c --plain --file /none", 4, "groupflow: /none: no such file"),
        ("gather send --to 127.0.0.1:1 --client c --plain --token-file /none", 4, "it takes a file"),
        (
            "tree serve --plain", 2,
            "the token is missing: name its file with --token-file, or set $GROUPFLOW_TOKEN",
        ),
        ("bone list --to 127.0.0.1:1", 1, "groupflow: "),
        ("switch list --api http://127.0.0.1:1", 1, "groupflow: no controller at http://127.0.0.1:1 ("),
        ("switch list --net nowhere", 4, "groupflow: no network runs"),
        ("net up fig5 --json", 2, "groupflow: --json: `groupflow net up` has no use for it; leave it out"),
        ("switch list --net", 2, "groupflow: --net: a value is missing; see groupflow --help"),
        ("", 2, "groupflow: the following arguments are required: COMMAND; see groupflow --help"),
        ("session", 2, "groupflow session: the following arguments are required: VERB; see groupflow"),
        ("session list --api foo", 2, "--api: 'foo' is no URL; write one like http://10.0.0.1:9580"),
        ("tree serve --plain --api http://127.0.0.1:99999", 2, "is no URL; write one like http://10.0.0.1:9580"),
        ("session list --net x --api http://h:1", 2, "--api and --net exclude each other; leave one out"),
        ("net down a --net b", 2, "--net: the network is named already; leave one out"),
        ("session create 7 --cach 4MiB", 2, "unrecognized arguments: --cach 4MiB"),
        ("session create 7 --cache 4MiB", 2, "--cache is a setting of TCP sessions, which need --tcp-port"),
        ("session delete 7 --json", 2, "--json: `groupflow session delete` has no use for it; leave it out"),
        (
            "agent place --topology fig5 --sender ma1 --member mb1 --agents 1 --api http://127.0.0.1:1",
            2,
            "--api and --net belong to --session; leave them out",
        ),
        ("ctl status", 2, "groupflow: COMMAND ctl: unknown; write one of net, controller"),
        ("recv 7", 2, "groupflow: COMMAND recv: unknown; did you mean session recv or tree recv; see"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_an_exit_code(
    line: str, code: int, said: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GROUPFLOW_TOKEN", raising=False)
    assert main(line.split()) == code
    out, error = capfd.readouterr()
    assert (out, error.count("\n"), said in error) == ("", 1, True), error


async def in_tasks(error: Exception, depth: int) -> None:
    if depth == 0:
        raise error
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(in_tasks(error, depth - 1))


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], int]:
    """Runs a command that does this. Returns its exit code."""

    def run(work: Callable[[], Any]) -> int:
        def listed(shared: common.Common) -> None:
            """Fail."""
            work()

        def function(_: object) -> Callable[..., None]:
            return listed

        monkeypatch.setattr(command, "_function", function)
        return main(["session", "list"])

    return run


FAILURES: list[tuple[Exception, int, str]] = [
    (Error("it broke; try again"), 1, "groupflow: it broke; try again\n"),
    (UnavailableError("no answer; wait"), 1, "groupflow: no answer; wait\n"),
    (InvalidError("x.yaml: no; mend it"), 4, "groupflow: x.yaml: no; mend it\n"),
    (Error("gone; look", Kind.NOT_FOUND), 4, "groupflow: gone; look\n"),
    (Error(kind=Kind.LOST), 3, ""),
    (FileNotFoundError(errno.ENOENT, "No such", "a/b"), 1, "groupflow: a/b: no such file or directory\n"),
    (ConnectionResetError(errno.ECONNRESET, "Reset"), 1, "groupflow: connection reset by peer\n"),
    (TimeoutError(), 1, "groupflow: no answer in time\n"),
]


@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize(("error", "code", "said"), FAILURES)
def test_what_is_foreseen_is_one_line_also_from_tasks(
    depth: int,
    error: Exception,
    code: int,
    said: str,
    failing: Callable[[Callable[[], Any]], int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert failing(lambda: asyncio.run(in_tasks(error, depth))) == code
    assert capsys.readouterr() == ("", said)


def test_what_is_not_foreseen_is_a_mistake_of_groupflow_and_keeps_its_traceback(
    failing: Callable[[Callable[[], Any]], int],
) -> None:
    both = ExceptionGroup("", [Error("a"), TypeError("b")])

    def fail(error: Exception) -> None:
        raise error

    with pytest.raises(TypeError):
        failing(lambda: fail(TypeError()))
    with pytest.raises(ExceptionGroup) as caught:
        failing(lambda: fail(both))
    assert caught.value is both


def test_an_interruption_is_silent(
    failing: Callable[[Callable[[], Any]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    assert failing(fail) == 130
    assert capsys.readouterr() == ("", "")


def test_a_broken_pipe_to_anybody_but_the_reader_is_an_error(
    failing: Callable[[Callable[[], Any]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise BrokenPipeError(32, "Broken pipe")

    assert failing(fail) == 1
    assert capsys.readouterr().err == "groupflow: broken pipe\n"


def test_what_a_file_of_others_has_besides_is_named_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner: dict[str, Any] = {
        "hosts": {"H_1": {}},
        "switches": {"s1": {"sw_bin": "x"}},
        "links": [["H_1", "s1"]],
    }
    file = tmp_path / "p4app.json"
    file.write_text(json.dumps({"topology": inner}))
    assert main(["net", "show", str(file)]) == 0
    shown = capsys.readouterr()
    assert shown.err.splitlines() == [
        f"groupflow: warning: {file}: switches.s1.sw_bin: not taken",
        f"groupflow: warning: {file}: names: H_1 is h1",
    ]
    assert "h1:" in shown.out


def test_a_topology_is_shown_to_whoever_may_not_list_networks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> Never:
        raise Error("networks are root's; use sudo")

    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("groupflow.cli.net.running_networks", refused)
    assert main(["net", "show", "star"]) == 0 and "name: star" in capsys.readouterr().out
    assert main(["net", "show", "none.yaml"]) == 4 and "no such file" in capsys.readouterr().err
    assert main(["net", "show", "hall"]) == 1 and "networks are root's" in capsys.readouterr().err


def test_a_started_network_counts_one_as_one() -> None:
    entry = Entry("one", "one.yaml", "gfswitch", 1, {"h1": 2}, {"h1": "10.0.0.1"}, ("s1",), None, "/out/one")
    up = cast(Any, SimpleNamespace(entry=entry))
    said = net._started(up)  # pyright: ignore[reportPrivateUsage]
    assert said.startswith("one: 1 switch (gfswitch), 1 host; logs and files in /out/one\n")
