"""Errors of a tree's dispatchers. Every message is one line: cause; cure."""

from groupflow.errors import Error, Kind


class TreeError(Error):
    """The service cannot be reached or started. The text is one line with the cure."""


class TreeRefusedError(TreeError):
    """The dispatchers refuse a request: trying again without a change will not help."""

    default = Kind.INVALID
