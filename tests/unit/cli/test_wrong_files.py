"""Every command with files and folders that will not do: one line with cause and cure, and the exit code."""

from __future__ import annotations

import gzip
import os
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from groupflow.cli.completion import whole
from groupflow.cli.main import build_parser, main
from groupflow.cli.table import commands
from groupflow.study.checkout import names

EXAMPLES = Path(__file__).parents[3] / "examples/sweep"
CLIENTS = "{link: 1mbit, buffer: 10000, clients: [{name: a, target: 1mbit, token: c0}]}"
READ: tuple[str, ...] = ("absent", "folder", "empty", "binary", "other")
WHOLE: tuple[str, ...] = ("absent", "folder")
"""of a file whose content is not read, or of a store, which is made"""
WRITTEN: tuple[str, ...] = ("folder", "below_file", "below_absent")
FOLDER: tuple[str, ...] = ("empty", "below_file")
TREE = "--to 127.0.0.1:1 --plain --token-file {token}"
BAD: dict[str, tuple[str, ...]] = {
    "net up {}": READ,
    "net up fig5 --p4 {}": READ,
    "net up fig5 --out {}": FOLDER,
    "net up fig5 --pcap {}": FOLDER,
    "net up fig5 --record {}": WRITTEN,
    "net show {}": READ,
    "net play {}": READ,
    "controller run --topology {}": READ,
    "controller run --topology fig5 --agent-token-file {}": READ,
    "controller run --topology fig5 --listen 127.0.0.1:0 --policy-file {}": READ,
    "controller run --topology fig5 --listen 127.0.0.1:0 --store {}": (
        "folder",
        "below_file",
        "below_absent",
        "binary",
        "other",
    ),
    "controller run --topology fig5 --record {}": WRITTEN,
    "controller run --topology fig5 --sockets {}": FOLDER,
    "controller run --topology fig5 --tls-cert {} --tls-key {key}": READ,
    "controller run --topology fig5 --tls-cert {cert} --tls-key {}": READ,
    "p4 check {}": WHOLE,
    "p4 check {other} -I {}": ("absent", "empty"),
    "fit {}": ("absent", "folder", "empty"),
    "fit {folder} --svg {}": WRITTEN,
    "p4 compile {}": WHOLE,
    "p4 compile {other} -I {}": ("absent", "empty"),
    "p4 compile {other} --out {}": FOLDER,
    "session send 7 --token-file {}": READ,
    "session send 7 --token-file {token} --file {}": WHOLE,
    "session recv 7 --token-file {}": READ,
    "session recv 7 --token-file {token} --output {}": WRITTEN,
    "session join 7 --listen 9000 --token-file {}": READ,
    "gather serve --discard --clients {}": READ,
    "gather serve --clients {clients} --out {}": FOLDER,
    "gather serve --discard --clients {clients} --policy-file {}": READ,
    "gather serve --discard --clients {clients} --rest 127.0.0.1:0 --tls-cert {} --tls-key {key}": READ,
    "gather serve --discard --clients {clients} --rest 127.0.0.1:0 --tls-cert {cert} --tls-key {}": READ,
    "gather send --client a --to 127.0.0.1:1 --token-file {}": READ,
    "gather send --client a --to 127.0.0.1:1 --plain --token-file {token} --file {}": WHOLE,
    "gather send --client a --to 127.0.0.1:1 --token-file {token} --tls-ca {}": READ,
    "client create a --target 1mbit --token-file {}": READ,
    "bone hub --dir {}": FOLDER,
    "bone hub --dir {folder} --token-file {}": READ,
    "bone rim --dir {}": FOLDER,
    "bone rim --dir {folder} --token-file {}": READ,
    "tree serve --token-file {}": READ,
    "tree serve --plain --token-file {token} --store {}": (*WRITTEN, "binary", "other"),
    "tree send --to 127.0.0.1:1 --plain --token-file {}": READ,
    f"tree send {TREE} --file {{}}": WHOLE,
    "tree recv --to 127.0.0.1:1 --plain --token-file {}": READ,
    f"tree recv {TREE} --output {{}}": WRITTEN,
    "tree island --to 127.0.0.1:1 --plain --session 7 --token-file {}": READ,
    f"tree island {TREE} --session 7 --session-token-file {{}}": READ,
    "tree show --to 127.0.0.1:1 --plain --token-file {}": READ,
    "agent place --topology {} --sender a --member b --agents 1": READ,
    "sim run {}": READ,
    "sim run {scenario} --out {}": FOLDER,
    "sim run {scenario} --record {}": WRITTEN,
    "sim sweep {}": READ,
    "sim sweep {sweep} --out {}": FOLDER,
    "reproduce amcb --quick --out {}": FOLDER,
    "demo --file {}": ("absent", "folder", "empty"),
    "demo --out {}": FOLDER,
    "bench pipeline --out {}": FOLDER,
}
"""each option and argument that names a file or a folder, with what will not do there"""
BAD.update(
    {
        f"experiment {name} --quick --out {{}}": FOLDER
        for name in names("experiments")
        if name not in ("demo", "bench")
    }
)


def no_network(*_: object) -> None:
    pytest.fail("a network would begin")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GROUPFLOW_TOKEN", "c0ffee")
    monkeypatch.setattr("groupflow.lab.network.run_again", no_network)
    monkeypatch.setattr("experiments.demo.run.check_rights", no_network)
    found = {name: tmp_path / name for name in ("absent", "folder", "empty", "binary", "other", "token")}
    found |= {"clients": tmp_path / "clients.yaml", "key": tmp_path / "key", "cert": tmp_path / "cert"}
    found |= {"below_file": tmp_path / "empty/x", "below_absent": tmp_path / "absent/x"}
    found |= {"scenario": EXAMPLES / "line.yaml", "sweep": EXAMPLES / "experiment.yaml"}
    found["folder"].mkdir()
    found["empty"].touch()
    found["binary"].write_bytes(bytes(range(256)))
    found["other"].write_text("lab: 1\nnotes: [a, b]\n")
    found["token"].write_text("c0ffee")
    found["clients"].write_text(CLIENTS)
    found["key"].touch()
    found["cert"].touch()
    return found


def refused(words: str, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code, and the one line on stderr."""
    capfd.readouterr()
    code = main(words.split())
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == "" and len(lines) == 1, (words, out, err)
    return code, lines[0]


@pytest.mark.slow
@pytest.mark.parametrize("words", BAD)
def test_one_line_says_what_is_wrong_and_what_to_do(
    words: str, files: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    for kind in BAD[words]:
        code, line = refused(words.format(files[kind], **files), capfd)
        assert line.startswith("groupflow: ") and code == 4, (kind, code, line)
        assert str(files[kind]) in line and ";" in line, (kind, line)
        if kind in ("absent", "below_absent"):
            assert not files["absent"].exists(), "nothing is made"
        check_advice(words, line)


def test_a_file_in_place_of_results_is_kept(
    files: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    (files["folder"] / "line").write_text("mine")
    code, line = refused(f"sim run {files['scenario']} --out {files['folder']}", capfd)
    assert code == 4 and "line is no folder; name another one" in line
    assert [each.name for each in files["folder"].iterdir()] == ["line"]


@pytest.mark.parametrize("words", ["sim run {scenario}", "sim sweep {sweep}", "reproduce amcb --quick"])
def test_where_nothing_can_be_written_is_refused(
    words: str, files: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    code, line = refused(f"{words.format(**files)} --out /proc/groupflow", capfd)
    assert code == 4 and "/proc/groupflow: no such file or directory; choose another --out" in line


@pytest.mark.parametrize(
    "words",
    [
        "net up fig5",
        "controller run --topology fig5 --store {absent}",
        "session recv 7 --token-file {token} --output {absent}",
        f"tree recv {TREE} --output {{absent}}",
        "sim run {scenario} --out {absent}",
        "bone rim --dir {folder}",
    ],
)
def test_a_full_disk_is_told_before_anything_begins(
    words: str, files: dict[str, Path], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = os.statvfs("/")

    def full(_: object) -> os.statvfs_result:
        return os.statvfs_result([*place[:3], 0, *place[4:]])  # no free block

    monkeypatch.setattr("os.statvfs", full)
    code, line = refused(words.format(**files), capfd)
    assert code == 1 and "no space left on device; free some room there, or name another one" in line


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("net up {}", "{switches: [s1], hosts: [h1], links: [[h1, s1]], lab: 1}"),
        ("sim run {}", "{topology: fig5, duration: 1s, lab: 1}"),
        ("sim sweep {}", "{scenario: line.yaml, lab: 1}"),
        ("gather serve --discard --clients {}", CLIENTS.replace("link", "lab: 1, link")),
    ],
)
def test_an_unknown_key_is_named(
    words: str, text: str, files: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    files["other"].write_text(text)
    code, line = refused(words.format(files["other"]), capfd)
    assert code == 4 and f"{files['other']}: lab: unknown key; known are " in line


def test_an_unknown_option_is_refused_by_every_command(capfd: pytest.CaptureFixture[str]) -> None:
    for name, verb in commands():
        words = f"{name} fig5" if verb.name in ("reproduce", "experiment") else name
        code, line = refused(f"{words} --nosuch", capfd)
        assert code in (2, 4) and line.startswith("groupflow"), line


def check_advice(words: str, line: str) -> None:
    """Every option that a line names is one of the command, or of a command that stands there."""
    there = re.sub(r"`[^`]*`", "", line)
    parser = parser_of(words)
    known = {option for action in parser._actions for option in action.option_strings}  # pyright: ignore[reportPrivateUsage]
    for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", there):
        assert option in known | {"--net", "--api", "--json"}, line


def parser_of(words: str) -> ArgumentParser:
    parser: ArgumentParser = whole(build_parser())
    for word in words.split():
        below = [action for action in parser._actions if isinstance(action.choices, dict)]  # pyright: ignore[reportPrivateUsage]
        if not below or word not in (choices := cast("dict[str, ArgumentParser]", below[0].choices)):
            break
        parser = choices[word]
    return parser


def files_of(name: str) -> Iterator[str]:
    """The options and arguments of a command that name a file or a folder."""
    for action in parser_of(name)._actions:  # pyright: ignore[reportPrivateUsage]
        if str(action.metavar) in ("FILE", "FOLDER", "SCENARIO", "EXPERIMENT", "NAME|FILE"):
            yield action.option_strings[0] if action.option_strings else str(action.metavar)


@pytest.mark.slow
def test_the_table_has_every_option_that_names_a_file() -> None:
    for name, _ in commands():
        rows = [words for words in BAD if words.startswith(f"{name} ")]
        for option in files_of(name):
            found = any(f"{option} {{}}" in row for row in rows) if option[0] == "-" else len(rows) > 0
            assert found or name in ("schema", "experiment"), f"{name} {option}"


@pytest.mark.parametrize("words", ["net up {}", "net show {}", "controller run --topology {}"])
def test_a_scenario_is_no_topology(
    words: str, files: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    for kind, command in (("scenario", "sim run"), ("sweep", "sim sweep"), ("clients", "gather serve")):
        code, line = refused(words.format(files[kind]), capfd)
        assert code == 4 and f"no topology; run `groupflow {command}" in line


@pytest.mark.parametrize(
    ("words", "kind", "others"),
    [
        ("sim run {}", "scenario", {"sweep": "sim sweep", "clients": "gather serve", "topology": "net up"}),
        ("sim sweep {}", "sweep", {"scenario": "sim run", "clients": "gather serve", "topology": "net up"}),
        (
            "gather serve --discard --clients {}",
            "list of clients",
            {"sweep": "sim sweep", "topology": "net up"},
        ),
        ("net up {}", "topology", {"scenario": "sim run", "sweep": "sim sweep"}),
        ("sim run {}", "compressed", {"recording": "net play"}),
        ("net up {}", "compressed", {"recording": "net play"}),
    ],
)
def test_a_file_of_another_kind_is_named_with_its_command(
    words: str, kind: str, others: dict[str, str], files: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    files["topology"] = Path("topology.yaml")
    files["topology"].write_text("{switches: [s1], hosts: [h1], links: [[h1, s1]]}")
    files["recording"] = Path("lecture.rec")
    files["recording"].write_bytes(gzip.compress(b"{}"))
    for other, command in others.items():
        code, line = refused(words.format(files[other]), capfd)
        assert code == 4 and kind in line and f"`groupflow {command}" in line, line


@pytest.fixture
def closed_output() -> Iterator[None]:
    """A stdout whose reader has gone."""
    kept, before = os.dup(1), sys.stdout
    read, write = os.pipe()
    os.close(read)
    os.dup2(write, 1)
    os.close(write)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    try:
        yield
    finally:
        sys.stdout = before
        os.dup2(kept, 1)
        os.close(kept)


PRINTED = [
    "--version", "--help", "net show fig5", "net list", "net list --json", "schema topology",
    "schema sweep", "completion bash", "sim run {scenario}", "sim run {scenario} --json",
    "sim run {scenario} {group} --out o", "sim sweep {short} --out s --jobs 1",
    "sim sweep {short} --out s --jobs 1 --json",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("words", PRINTED)
def test_a_reader_that_has_enough_ends_a_command_quietly(
    words: str, files: dict[str, Path], closed_output: None, capsys: pytest.CaptureFixture[str]
) -> None:
    short = Path("short.yaml")
    short.write_text(f"{{scenario: {files['scenario']}, seeds: 2}}")
    with open(1, "w", closefd=False) as sys.stdout:
        assert main(words.format(short=short, group=EXAMPLES / "group.yaml", **files).split()) == 0
    assert "Traceback" not in capsys.readouterr().err and "roken pipe" not in capsys.readouterr().err


def test_the_help_of_every_command_ends_quietly_too(
    closed_output: None, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, _ in commands():
        with open(1, "w", closefd=False) as sys.stdout:
            assert main([*name.split(), "--help"]) == 0
        assert capsys.readouterr().err == ""


def test_a_mistake_is_told_also_where_nobody_reads(
    closed_output: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sim", "run", "nosuch.yaml"]) == 4
    assert main(["sim", "run", "--nosuch"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2
