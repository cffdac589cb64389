"""The frame of papers and experiments: what they declare, their runs, claims, tables, figures and results.

A paper is a folder in `papers` with a module `reproduction`, an experiment a folder in `experiments` with a
module `run`. Either module has an `EXPERIMENT`, a `groupflow.study.experiment.Experiment`.
"""

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
