"""The reason of an operating system's error, in words that fit into a line."""

import os


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
