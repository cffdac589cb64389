"""One tree of errors: each is one line, `cause; cure`, of a kind that gives its exit code and HTTP status."""

import errno
import os
from enum import Enum
from typing import ClassVar, cast


class Kind(Enum):
    """The kind of a failure, as (exit code of `groupflow`, status of the REST API)."""

    FAILED = (1, 500)
    """something did not work: trying again may help"""
    UNAVAILABLE = (1, 503)
    """a switch, an agent, a store or a controller does not answer"""
    USAGE = (2, 422)
    """options that are missing, malformed, or do not go together"""
    LOST = (3, 200)
    """complete, but without some of the members"""
    INVALID = (4, 400)
    """a file or a value that cannot be used: trying again without a change will not help"""
    FORBIDDEN = (4, 403)
    """a token that does not allow the request"""
    NOT_FOUND = (4, 404)
    """nothing has this name or number"""
    CONFLICT = (4, 409)
    """it is there already, or something else is in its place"""
    GONE = (4, 410)
    """it was there, and has ended"""
    INTERRUPTED = (130, 503)
    """ended by Ctrl-C, as shells count it (128 + SIGINT)"""

    @property
    def exit_code(self) -> int:
        return self.value[0]

    @property
    def status(self) -> int:
        return self.value[1]


class Error(Exception):
    """Any failure that groupflow foresees. Its text is one line with the cause and the cure."""

    default: ClassVar[Kind] = Kind.FAILED
    """the kind of a class of errors"""

    def __init__(self, text: str = "", kind: Kind | None = None) -> None:
        super().__init__(text)
        self.kind = kind or self.default


class UsageError(Error):
    """Options or arguments that do not go together, or are missing."""

    default = Kind.USAGE


class InvalidError(Error, ValueError):
    """A file, a value or a request that cannot be used."""

    default = Kind.INVALID


class UnavailableError(Error):
    """A process, a switch or a store that does not answer."""

    default = Kind.UNAVAILABLE


def reason(error: BaseException) -> str:
    """The operating system's words for the error or for its cause, as `connection refused`; else the first
    line of the error's own text."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            number = cause.errno or 0  # negative: the look-up of a name failed
            return (os.strerror(number) if number > 0 else cause.strerror).lower()
        cause = cause.__cause__ or cause.__context__
    return next(iter(str(error).splitlines()), type(error).__name__).lower()


def kind_of(error: OSError) -> Kind:
    """The kind of a failure to write: a full or broken disk may be mended, a wrong path may not."""
    return Kind.FAILED if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) else Kind.INVALID


def line_of(error: Exception) -> str:
    """An error as people read it; of the operating system's with the file, and the cure of a full disk."""
    if not isinstance(error, OSError):
        return str(error)
    is_full = error.errno == errno.ENOSPC
    file = (is_full and error.filename2) or error.filename  # of a copy, the disk of the second is full
    where = f"{file}: " if file else ""
    if isinstance(error, TimeoutError) and not str(error):
        return f"{where}no answer in time"
    full = "; free some room there, or write to another disk" if is_full else ""
    return f"{where}{reason(error)}{full}"


def foreseen(error: BaseException) -> Error | OSError | None:
    """The first foreseen error of nested groups, if all in them are foreseen; None: something else failed."""
    if isinstance(error, BaseExceptionGroup):
        found = [foreseen(each) for each in cast("BaseExceptionGroup[BaseException]", error).exceptions]
        return None if None in found else found[0]
    return error if isinstance(error, Error | OSError) else None
