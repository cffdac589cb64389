"""What can go wrong with a tree's dispatchers. Every message is one line: cause; cure."""


class TreeError(Exception):
    """The service cannot be had. The text is one line with the cure."""


class TreeRefusedError(TreeError):
    """The dispatchers do not answer this: trying again without a change will not help."""
