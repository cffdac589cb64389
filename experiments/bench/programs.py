"""Programs that measure, which are examples of the Rust workspace."""

import subprocess
from functools import cache
from pathlib import Path

from groupflow.study.errors import StudyError

_WORKSPACE = Path(__file__).parents[2] / "dataplane"


@cache
def example(package: str, name: str) -> Path:
    """Builds one where it is older than its sources, once in this process. Raises StudyError."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", package, "--example", name]
    if subprocess.run(command, cwd=_WORKSPACE, check=False).returncode:
        raise StudyError(f"{' '.join(command)} failed (messages above)")
    return _WORKSPACE / "target" / "release" / "examples" / name
