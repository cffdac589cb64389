"""Tokens as commands take them: in a file, because every user can read a command line."""

import atexit
import tempfile
from functools import cache
from pathlib import Path


@cache
def token_file(token: str) -> str:
    """The path of a file with this token, until the tests end."""
    folder = tempfile.TemporaryDirectory(prefix="groupflow-token-")
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "token"
    path.write_text(token + "\n")
    return str(path)
