"""Errors of a tree's dispatchers. Every message is one line: cause; cure."""


class TreeError(Exception):
    """The service cannot be reached or started. The text is one line with the cure."""


class TreeRefusedError(TreeError):
    """The dispatchers refuse a request: trying again without a change will not help."""
