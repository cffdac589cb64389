"""Reasons of errors, in words."""

import errno
import socket

import pytest

from groupflow.errors import reason


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
