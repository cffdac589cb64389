"""Child processes: they end with the process that started them, and their end is told in words."""

from collections.abc import Iterable

STOP_SECONDS = 3.0
"""from SIGTERM to SIGKILL; gfagent needs 0.3 s to leave its session"""


def tied(command: Iterable[str], signal: str = "TERM") -> list[str]:
    """The command, wrapped so that the kernel sends it this signal if this process is killed."""
    return ["setpriv", "--pdeathsig", signal, *command]


def how_it_ended(code: int | None) -> str:
    """The end of a process in words, from its exit code as `subprocess` has it (negative for a signal)."""
    return f"was ended by signal {-code}" if code is not None and code < 0 else f"exited with status {code}"
