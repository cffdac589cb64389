"""An agent whose events go to a full disk says so, and ends with 1."""

import subprocess
import time
from pathlib import Path

import pytest

from groupflow.agents.agent_process import find_program


@pytest.mark.slow
def test_a_server_whose_events_are_not_written_ends_with_1() -> None:
    command = [str(find_program("gfagent")), "gather-serve", "--plain", "--discard", "--json"]
    command += ["--listen", "127.0.0.1:0"]
    with Path("/dev/full").open("wb") as full:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True
        )
    status = Path(f"/proc/{server.pid}/status")
    deadline = time.monotonic() + 10
    while not _catches_sigterm(status) and time.monotonic() < deadline:
        time.sleep(0.01)  # a poll; the deadline ends it
    server.terminate()
    _, errors = server.communicate(timeout=10)
    assert server.returncode == 1
    assert "no space left on device" in errors.lower()


def _catches_sigterm(status: Path) -> bool:
    """Whether a process blocks or catches SIGTERM (15): then it ends by itself."""
    lines = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
    return any(int(lines[name], 16) >> 14 & 1 for name in ("SigBlk", "SigCgt"))
