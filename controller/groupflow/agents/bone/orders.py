"""Requests to a hub or a rim over HTTP: for a list of its files, and to send one."""

from dataclasses import dataclass
from typing import TypeVar, cast
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter, ValidationError

from groupflow.errors import Error, Kind, reason

_SECONDS = 10.0
_T = TypeVar("_T")


@dataclass(frozen=True)
class FileView:
    name: str
    size: int
    sha256: str | None
    """None: the file is not hashed yet"""
    state: str = "stored"
    """of a hub: idle, hashing, queued, sending, sent, failed; of a rim: stored"""
    done_bytes: int = 0
    """of a hub: bytes that no rim is known to lack"""
    error: str | None = None


@dataclass(frozen=True)
class Listing:
    role: str
    """hub or rim"""
    files: tuple[FileView, ...]


def list_files(at: str) -> Listing:
    """The files of the hub or the rim that serves HTTP `at` HOST:PORT. Raises Error."""
    return _read(Listing, at, _ask("GET", at, "/"))


def show_file(at: str, name: str) -> FileView:
    """The state of a hub's file. Raises Error."""
    return _file("GET", at, name)


def send_file(at: str, name: str) -> FileView:
    """Has a hub send a file of its folder. Raises Error."""
    return _file("POST", at, name)


def _file(method: str, at: str, name: str) -> FileView:
    return _read(FileView, at, _ask(method, at, f"/{quote(name, safe='')}"))


def _ask(method: str, at: str, path: str) -> object:
    try:
        answer = httpx.request(method, f"http://{at}{path}", timeout=_SECONDS, trust_env=False)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Error(f"no answer from {at}: {reason(error)}; is it running there?") from None
    try:
        form = cast(object, answer.json())
    except ValueError:
        raise Error(f"{at} is no hub and no rim; check the address") from None
    if answer.is_error:
        said = cast(dict[str, object], form).get("error") if isinstance(form, dict) else None
        kind = Kind.NOT_FOUND if answer.status_code == 404 else Kind.FAILED
        raise Error(str(said or f"{at}: {answer.status_code}"), kind)
    return form


def _read(kind: type[_T], at: str, form: object) -> _T:
    try:
        return TypeAdapter(kind).validate_python(form)
    except ValidationError:
        raise Error(f"{at} is no hub and no rim; check the address") from None
