"""Errors that end a study before all of its work is done. Each is one line for people."""

from typing import cast

from groupflow.errors import Error, Kind


class StudyError(Error):
    """A study cannot begin, go on or write its results."""


class RefusedError(StudyError):
    """The study was asked for something that does not exist: the same request will not help later."""

    default = Kind.INVALID


class RunFailedError(StudyError):
    """A run has no outcome: a transfer did not end, a process was gone, or bytes were wrong."""


class StoppedError(StudyError):
    """Ctrl-C ended the study. Results of finished runs are written."""

    default = Kind.INTERRUPTED


def expected(error: Exception, kinds: tuple[type[Exception], ...]) -> Exception | None:
    """The first error of these kinds, where it and all others of nested groups are of these kinds."""
    known, others = ExceptionGroup("", [error]).split(kinds)
    return None if known is None or others is not None else first_of(known)


def first_of(errors: ExceptionGroup[Exception]) -> Exception:
    """The first error of nested groups."""
    first = errors.exceptions[0]
    return first_of(cast("ExceptionGroup[Exception]", first)) if isinstance(first, ExceptionGroup) else first
