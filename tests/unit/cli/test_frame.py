"""Arguments and options from typed functions and models; the options that every command takes."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from groupflow.cli import common
from groupflow.cli.common import Common
from groupflow.cli.frame import REQUIRED, Given, add_arguments, call, one_of
from groupflow.cli.parser import Parser
from groupflow.errors import InvalidError, UsageError
from groupflow.model.fields import FiniteRate, Help, Key, Port, Range, Size
from groupflow.model.values import (
    URL,
    FarAddress,
    Interval,
    ListenAddress,
    Millis,
    Name,
    Seconds,
    Secret,
    SessionId,
    Share,
    Span,
)

Function = Callable[..., Any]


def parser_of(function: Function) -> Parser:
    parser = Parser(prog="groupflow it")
    add_arguments(parser, function, Common)
    return parser


def given(function: Function, line: str, shared: Common | None = None) -> Any:
    """What the function returns for a command line."""
    return call(function, vars(parser_of(function).parse_args(line.split())), shared or Common())


def refusal(function: Function, line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The usage error of a command line, without the place of the help."""
    with pytest.raises(SystemExit) as ended:
        given(function, line)
    assert ended.value.code == 2
    match = re.fullmatch(r"groupflow it: (.*); see groupflow it --help\n", capsys.readouterr().err)
    assert match
    return match[1]


def option(kind: Any, default: Any = None) -> Function:
    """A function with one option, `--it`."""

    def function(*, it: Any = default) -> Any:
        return it

    function.__annotations__["it"] = Annotated[kind, Help("what it is")]
    assert function.__kwdefaults__ is not None
    if default is REQUIRED:
        del function.__kwdefaults__["it"]
    return function


COUNTS = Annotated[tuple[int, ...], Range(1)]

VALUES: list[tuple[Any, Any, str, Any]] = [
    (int, 3, "", 3),
    (int, 3, "--it 5", 5),
    (int | None, None, "", None),
    (Annotated[int, Range(1, 7)], 1, "--it 7", 7),
    (float, 0.5, "--it 2", 2.0),
    (str, "a", "--it b", "b"),
    (Path | None, None, "--it a/b", Path("a/b")),
    (Literal["one", "two"], "one", "--it two", "two"),
    (Literal["one", "two"] | None, None, "", None),
    (bool, False, "", False),
    (bool, False, "--it", True),
    (bool, True, "", True),
    (bool, True, "--no-it", False),
    (bool | None, None, "--no-it", False),
    (tuple[str, ...], (), "", ()),
    (tuple[str, ...], (), "--it a --it b", ("a", "b")),
    (tuple[Port, ...], (), "--it 1 --it 65535", (1, 65535)),
    (tuple[str, str] | None, None, "--it a b", ("a", "b")),
    (tuple[str, str] | None, None, "", None),
    (COUNTS, (), "--it 1", (1,)),
    (Size, 0, "--it 64KiB", 65536),
    (FiniteRate, None, "--it 5mbit", 5_000_000),
    (Seconds, 1, "--it 2s", 2),
    (Seconds, 1, "--it 90000s", 90_000),
    (Seconds, 1, "--it 0", 0),
    (Millis, 1, "--it 1.5s", 1500),
    (Span, 1.0, "--it 50ms", 0.05),
    (Interval, 1.0, "--it 50ms", 0.05),
    (Share, 0.1, "--it 25%", 0.25),
    (SessionId, None, "--it 7", 7),
    (Annotated[str, URL], None, "--it http://h:1", "http://h:1"),
    (ListenAddress, ("h", 1), "--it 0.0.0.0:0", ("0.0.0.0", 0)),
    (FarAddress, None, "--it h:9", ("h", 9)),
]


@pytest.mark.parametrize(("kind", "default", "line", "value"), VALUES)
def test_an_option_is_read_by_its_type(kind: Any, default: Any, line: str, value: Any) -> None:
    assert given(option(kind, default), line) == value


@pytest.mark.parametrize(
    ("kind", "line", "said"),
    [
        (int, "--it x", "argument --it: 'x' will not do; write a whole number"),
        (float, "--it x", "argument --it: 'x' will not do; write a number"),
        (
            Annotated[int, Range(1, 7)], "--it 8",
            "argument --it: '8' will not do; write a whole number from 1 to 7",
        ),
        (
            Annotated[int, Range(0)], "--it -1",
            "argument --it: '-1' will not do; write a whole number from 0 on",
        ),
        (tuple[Port, ...], "--it 0", "argument --it: '0' will not do; write a whole number from 1 to 65535"),
        (
            Literal["one", "two"], "--it three",
            "--it three: unknown; write one of one, two",
        ),
        (tuple[str, str], "--it a", "argument --it: expected 2 arguments"),
        (Size, "--it 5MB", "argument --it: '5MB' is no size; write a number of bytes, or like 64MiB"),
        (
            Annotated[Size, Range(4096, 1 << 20)], "--it 1",
            "argument --it: '1' will not do; write a size, as in '64MiB' from 4KiB to 1MiB",
        ),
        (
            FiniteRate, "--it 5",
            "argument --it: '5' cannot be read; write a number with bit, kbit, mbit or gbit, such as 50mbit",
        ),
        (
            FiniteRate, "--it unlimited",
            "argument --it: 'unlimited' cannot be read; write a number with bit, kbit, mbit or gbit,"
            " such as 50mbit",
        ),
        (Seconds, "--it 5", "argument --it: '5' cannot be read; write a number with ns, us, ms or s"),
        (Seconds, "--it 5ms", "argument --it: '5ms' is finer than 1s; write a longer time"),
        (
            Annotated[Seconds, Range(1)], "--it 0s",
            "argument --it: '0s' will not do; write a time with its unit, as in '3s' from 1s on",
        ),
        (Interval, "--it 0", "argument --it: '0' will not do; write a time above 0, as in '1s'"),
        (Share, "--it x", "argument --it: 'x' is no share; write a percentage like 10%"),
        (SessionId, "--it 0", "argument --it: '0' is no session; write a number from 1 to 16777215"),
        (Annotated[str, URL], "--it h:1", "argument --it: 'h:1' is no URL; write one like http://10.0.0.1:9580"),
        (FarAddress, "--it h:0", "argument --it: 'h:0' is no address; write HOST:PORT"),
        (int, "--that 1", "unrecognized arguments: --that 1"),
    ],
)  # fmt: skip
def test_a_value_that_will_not_do_is_named_with_its_option_and_the_cure(
    kind: Any, line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refusal(option(kind), line, capsys) == said


@pytest.mark.parametrize(
    ("kind", "default", "text"),
    [
        (int, 3, "--it N what it is (default: 3)"),
        (float, 0.5, "--it N what it is (default: 0.5)"),
        (Size, 65536, "--it SIZE what it is (default: 64KiB)"),
        (Share, 0.1, "--it PERCENT what it is (default: 10%)"),
        (Millis, 1500, "--it TIME what it is (default: 1500ms)"),
        (ListenAddress, ("h", 1), "--it HOST:PORT what it is (default: h:1)"),
        (Literal["one", "two"], "one", "--it {one,two} what it is (default: one)"),
        (Path | None, None, "--it FILE what it is"),
        (tuple[str, ...], (), "--it NAME what it is; may be repeated"),
        (bool, False, "--it what it is"),
        (bool, True, "--it, --no-it what it is"),
    ],
)
def test_the_help_of_an_option_has_its_default_as_it_is_written(kind: Any, default: Any, text: str) -> None:
    shown = " ".join(parser_of(option(kind, default)).format_help().split())
    assert shown.endswith(f"exit {text}")


def test_a_default_in_the_help_is_not_told_twice() -> None:
    def function(*, it: Annotated[int, Help("100% of it (default: all)")] = 3) -> None: ...

    assert parser_of(function).format_help().rstrip().endswith("--it N      100% of it (default: all)")


def test_an_option_without_a_default_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    function = option(Annotated[int, Range(1)], REQUIRED)
    assert given(function, "--it 2") == 2
    assert refusal(function, "", capsys) == "the following arguments are required: --it"
    assert parser_of(function).usage == "groupflow it [options] --it N"


Kind = Literal["cat", "dog"]


def positional(
    shared: Common,
    kind: Annotated[Kind, Help("kind of it")],
    number: Annotated[SessionId | None, Help("number of it (default: none)")] = None,
    *,
    other: Annotated[str, Help("another option")] = "-",
) -> tuple[bool, str, int | None, str]:
    return shared.json, kind, number, other


def test_positional_parameters_are_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert given(positional, "cat", Common(json=True)) == (True, "cat", None, "-")
    assert given(positional, "--other x dog 7") == (False, "dog", 7, "x")
    parser = parser_of(positional)
    assert parser.usage == "groupflow it [options] KIND [SESSION]"
    assert "kind of it: cat, dog" in parser.format_help()
    assert refusal(positional, "", capsys) == "the following arguments are required: KIND"
    assert refusal(positional, "dag", capsys) == "KIND dag: unknown; did you mean dog"
    assert refusal(positional, "cat 0", capsys).startswith("argument SESSION: '0' is no session;")


def several(files: Annotated[tuple[Path, ...], Help("files")]) -> tuple[Path, ...]:
    return files


def rest(
    node: Annotated[str, Help("node", "NODE")],
    program: Annotated[tuple[str, ...], Help("the program and its arguments", "COMMAND")] = (),
) -> tuple[str, tuple[str, ...]]:
    return node, program


def test_the_last_argument_may_take_several_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert given(several, "a b") == (Path("a"), Path("b"))
    assert refusal(several, "", capsys) == "the following arguments are required: FILE"
    assert given(rest, "h1 prog -c 3 --other") == ("h1", ("prog", "-c", "3", "--other"))
    assert given(rest, "h1") == ("h1", ())
    assert parser_of(rest).usage == "groupflow it [options] NODE COMMAND..."


@dataclass(frozen=True, kw_only=True)
class Model:
    needed: Annotated[Path, Help("a file"), Name("--dir")]
    hosts: Annotated[tuple[str, ...], Help("hosts", "HOST"), Name("--host")] = field(default_factory=tuple)
    wait_ms: Annotated[Millis | None, Help("a time"), Name("--wait")] = None
    token: Annotated[str, Help("file with the token"), Secret()] = ""
    other: int = 5
    """no option: it has no Help"""


def model(shared: Common, number: Annotated[int, Help("number")], *, options: Model) -> Model:
    return options


def test_each_field_of_a_model_with_a_help_is_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert given(model, "1 --dir d") == Model(needed=Path("d"))
    full = Model(needed=Path("d"), hosts=("a", "b"), wait_ms=1500)
    assert given(model, "1 --dir d --host a --host b --wait 1.5s") == full
    assert refusal(model, "1", capsys) == "the following arguments are required: --dir"
    assert refusal(model, "1 --dir d --other 3", capsys) == "unrecognized arguments: --other 3"
    assert (
        refusal(model, "1 --dir d --wait 1us", capsys)
        == "argument --wait: '1us' is finer than 1ms; write a longer time"
    )


def test_a_parameter_takes_the_place_of_the_field_of_its_name() -> None:
    def function(hosts: Annotated[str, Help("one")], *, options: Model) -> Any:
        return hosts, options.hosts

    with pytest.raises(SystemExit):
        given(function, "x --dir d --host y")
    assert given(function, "x --dir d") == ("x", "x")


def test_a_secret_is_in_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("c0ffee\n")
    monkeypatch.delenv("GROUPFLOW_TOKEN", raising=False)
    assert given(model, "1 --dir d").token == ""
    assert given(model, f"1 --dir d --token-file {file}").token == "c0ffee"
    monkeypatch.setenv("GROUPFLOW_TOKEN", "decade")
    assert given(model, "1 --dir d").token == "decade"
    assert given(model, f"1 --dir d --token-file {file}").token == "c0ffee"
    file.write_text("\n")
    with pytest.raises(InvalidError, match=r"token: the file is empty; write the token into it$"):
        given(model, f"1 --dir d --token-file {file}")
    with pytest.raises(
        InvalidError, match=r"^--token-file c0ffee: no such file .*; it takes a file, no token$"
    ):
        given(model, "1 --dir d --token-file c0ffee")
    assert "decade" not in parser_of(model).format_help()


def test_a_secret_that_must_be_there_is_missed_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Needy:
        token: Annotated[str, Help("file with the token"), Secret()]

    def function(*, options: Any) -> Any: ...

    function.__annotations__["options"] = Needy
    monkeypatch.delenv("GROUPFLOW_TOKEN", raising=False)
    with pytest.raises(
        UsageError, match=r"^the token is missing: name its file with --token-file, or set \$GROUPF"
    ):
        given(function, "")


@dataclass(frozen=True)
class Targets:
    name: Annotated[str, Help("name")]
    target: Annotated[FiniteRate, Help("throughput"), Key("target_bps"), Range(1)]
    minimum: Annotated[FiniteRate | None, Help("least; none: the target"), Key("minimum_bps")] = None
    policy: Annotated[str, Help("policy")] = "first"
    measured: Annotated[bool, Help("whether it is measured")] = True
    agents: Annotated[tuple[str, ...], Help("agents")] = ()


Body = dict[str, Any]


def create(
    name: Annotated[str, Help("name of it")],
    *,
    targets: Annotated[Body, Given(Targets, clearable=("minimum",), required=("target",))],
) -> tuple[str, Body]:
    return name, targets


def change(
    name: Annotated[str, Help("name of it")],
    *,
    targets: Annotated[Body, Given(Targets, clearable=("minimum",), changes=True)],
) -> tuple[str, Body]:
    return name, targets


@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("x", {}),
        ("x --target 1mbit", {"target_bps": 1_000_000}),
        ("x --minimum 1kbit", {"minimum_bps": 1000}),
        ("x --minimum none", {"minimum_bps": None}),
        ("x --policy none", {"policy": "none"}),
        ("x --measured", {"measured": True}),
        ("x --no-measured", {"measured": False}),
        ("x --agents a --agents b", {"agents": ["a", "b"]}),
    ],
)
def test_the_given_fields_are_the_body_of_a_request(line: str, body: Body) -> None:
    assert given(change, line) == ("x", body)


def test_a_field_may_be_required_and_only_some_are_cleared(capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(create, "x", capsys) == "the following arguments are required: --target"
    assert given(create, "x --target 2kbit --minimum none") == (
        "x",
        {"target_bps": 2000, "minimum_bps": None},
    )
    assert refusal(create, "x --target none", capsys).startswith("argument --target: 'none' cannot be read;")


def test_a_default_is_told_where_it_holds_and_not_of_a_change() -> None:
    assert "policy (default: first)" in parser_of(create).format_help()
    assert "default" not in parser_of(change).format_help()


@pytest.mark.parametrize("line", ["--json a b", "a --json b", "a b --json"])
def test_common_options_stand_anywhere(line: str) -> None:
    assert common.taken_out(line.split()) == (Common(json=True), ["a", "b"])


@pytest.mark.parametrize(
    ("line", "shared", "words"),
    [
        ("a --net n -v", Common(net="n", verbose=True), "a"),
        ("--api=http://h:1 a -q", Common(api="http://h:1", quiet=True), "a"),
        ("--verbose --quiet a", Common(verbose=True, quiet=True), "a"),
        ("a --jsonx --network n", Common(), "a --jsonx --network n"),
        ("a --json -- --net n", Common(json=True), "a -- --net n"),
        ("net exec h1 prog --json --net n", Common(), "net exec h1 prog --json --net n"),
        ("net exec h1 --json", Common(), "net exec h1 --json"),
        ("net exec --net n h1 prog -v", Common(net="n"), "net exec h1 prog -v"),
        ("--net n net exec h1 prog -q", Common(net="n"), "net exec h1 prog -q"),
    ],
)
def test_the_words_of_a_program_are_its_own(line: str, shared: Common, words: str) -> None:
    assert common.taken_out(line.split()) == (shared, words.split())


@pytest.mark.parametrize("line", ["a --net", "a --net --json", "--api -v"])
def test_a_common_option_without_its_value_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match=r"^--(net|api): a value is missing; see groupflow --help$"):
        common.taken_out(line.split())


def test_a_common_option_of_which_a_command_has_no_use_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^--net: `groupflow schema` has no use for it; leave it out$"):
        Common(net="n").refuse_unused("schema", ("json",))
    Common(json=True, verbose=True, quiet=True).refuse_unused("schema", ("json",))


def test_options_that_exclude_each_other() -> None:
    assert one_of(a_b=None, c=3) == "c" and one_of(a_b="x", c=(), d=False) == "a_b"
    with pytest.raises(UsageError, match=r"^--a-b and --c exclude each other; leave one out$"):
        one_of(a_b="x", c="y")
    with pytest.raises(UsageError, match=r"^--a-b or --c is missing; give one of them$"):
        one_of(a_b=None, c=())
