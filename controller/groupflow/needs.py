"""Programs and packages that only some commands use: a line says which are missing, and what to install."""

import shutil
from importlib.util import find_spec

from groupflow.errors import Error

_DEBIAN = {
    "mnexec": "mininet", "unshare": "util-linux", "ip": "iproute2", "ethtool": "ethtool", "sysctl": "procps",
    "iperf3": "iperf3",
}  # fmt: skip
"""package of each program"""


class MissingError(Error):
    """A program or a package is not installed."""


def missing(*programs: str) -> str:
    """The line for those of the programs that are not on PATH; empty where all are."""
    absent = [name for name in programs if shutil.which(name) is None]
    packages = " ".join(sorted({_DEBIAN[name] for name in absent}))
    verb = "is" if len(absent) == 1 else "are"
    return f"{', '.join(absent)} {verb} not on PATH; run: sudo apt install {packages}" if absent else ""


def programs(*names: str) -> None:
    """Raises MissingError where one of them is not on PATH."""
    if line := missing(*names):
        raise MissingError(line)


def package(user: str, name: str) -> None:
    """Raises MissingError where `user`, such as an option, needs a Python package that is not there."""
    if find_spec(name) is None:
        raise MissingError(f"{user} needs {name}; run: pip install {name}")
