"""Finds groupflow's compiled programs, and the folder of their sockets."""

import os
import shutil
import sys
from pathlib import Path

from groupflow.agents.errors import ProgramNotFoundError

RUN_FOLDER = Path("/run/groupflow")
"""the control sockets of switches and split agents on this machine"""


def find_program(name: str) -> Path:
    """The program beside this Python interpreter, else on PATH. Raises ProgramNotFoundError."""
    beside = Path(sys.executable).parent / name
    if beside.is_file() and os.access(beside, os.X_OK):
        return beside
    found = shutil.which(name)
    if found is None:
        raise ProgramNotFoundError(f"no {name} beside {sys.executable} or on PATH; run make setup")
    return Path(found)
