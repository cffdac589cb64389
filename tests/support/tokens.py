"""Tokens as commands take them: in a file, because every user can read a command line."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path


@cache
def token_file(token: str) -> str:
    """The path of a file with this token, until the tests end."""
    # Not a TemporaryDirectory: since Python 3.13 a forked process drops what is registered here, and with the
    # last reference to that object it would delete the folder.
    folder = tempfile.mkdtemp(prefix="groupflow-token-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "token"
    path.write_text(token + "\n")
    return str(path)
