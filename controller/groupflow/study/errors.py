"""Errors that end a study before all of its work is done. Each is one line for people."""


class StudyError(Exception):
    """A study cannot begin, go on or write its results."""


class RefusedError(StudyError):
    """The study was asked for something that does not exist: the same request will not help later."""


class RunFailedError(StudyError):
    """A simulation has no outcome: a transfer did not end, or bytes arrived that were not sent."""


class StoppedError(StudyError):
    """Ctrl-C ended the study. Results of finished studies are written."""
