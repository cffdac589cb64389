"""Reasons of errors, in words; kinds of errors, as documented; foreseen errors."""

import errno
import re
import socket
from pathlib import Path

import pytest

from groupflow import errors
from groupflow.errors import Error, InvalidError, Kind, UnavailableError, foreseen, line_of, reason


def caused() -> RuntimeError:
    try:
        try:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 9)")
        except OSError as error:
            raise RuntimeError("[Errno 111] Connect call failed") from error
    except RuntimeError as error:
        return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "x"), "no such file or directory"),
        (caused(), "connection refused"),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "name or service not known"),
        (ValueError("First line\nsecond"), "first line"),
        (TimeoutError(), "timeouterror"),
    ],
)
def test_the_reason_is_in_words(error: Exception, text: str) -> None:
    assert reason(error) == text


def test_of_a_copy_the_full_disk_is_named() -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/here/a", None, "/there/a")
    assert line_of(full).startswith("/there/a: no space left on device; free some room there")
    absent = OSError(errno.ENOENT, "No such file or directory", "/here/a", None, "/there/a")
    assert line_of(absent) == "/here/a: no such file or directory"


def test_the_reference_has_each_kind_with_its_codes_and_meaning() -> None:
    source = Path(errors.__file__).read_text(encoding="utf-8")
    meanings = dict(re.findall(r'^    ([A-Z_]+) = \(.*\)\n    """(.*)"""$', source, re.M))
    page = Path("docs/reference/command-line.md").read_text(encoding="utf-8")
    table = [line for line in page.splitlines() if line.startswith("| `")]
    assert table == [
        f"| `{kind.name}` | {kind.exit_code} | {kind.status} | {meanings[kind.name]} |" for kind in Kind
    ]


def test_an_error_has_the_kind_of_its_class_or_its_own() -> None:
    assert InvalidError("no").kind is Kind.INVALID
    assert Error("no", Kind.GONE).kind is Kind.GONE
    assert isinstance(InvalidError("no"), ValueError)


def test_an_error_is_foreseen_where_all_of_its_group_are() -> None:
    first = UnavailableError("no answer")
    group = ExceptionGroup("", [ExceptionGroup("", [first]), OSError("gone")])
    assert foreseen(group) is first
    assert foreseen(ExceptionGroup("", [first, KeyError("mistake")])) is None
