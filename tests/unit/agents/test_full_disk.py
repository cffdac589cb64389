"""A full disk: an agent whose events go there says so, and ends with 1; a switch goes on without its log."""

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from groupflow.agents.agent_process import find_program


@pytest.mark.slow
def test_a_server_whose_events_are_not_written_ends_with_1() -> None:
    with Path("/dev/full").open("wb") as full:
        server = _gather_server("--json", stdout=full, stderr=subprocess.PIPE)
    server.terminate()
    _, errors = server.communicate(timeout=10)
    assert server.returncode == 1
    assert "no space left on device" in errors.lower()


@pytest.mark.slow
def test_a_server_whose_messages_are_not_written_goes_on() -> None:
    with Path("/dev/full").open("wb") as full:
        server = _gather_server(stdout=subprocess.DEVNULL, stderr=full)
    server.terminate()
    assert server.wait(timeout=10) == 0


def _gather_server(*arguments: str, **streams: Any) -> subprocess.Popen[str]:
    """One that is ready to be ended, or has ended."""
    command = [str(find_program("gfagent")), "gather-serve", "--plain", "--discard", *arguments]
    command += ["--listen", "127.0.0.1:0"]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True, **streams)
    status = Path(f"/proc/{server.pid}/status")
    deadline = time.monotonic() + 10
    while server.poll() is None and not _catches_sigterm(status) and time.monotonic() < deadline:
        time.sleep(0.01)  # a poll; the deadline ends it
    return server


def _catches_sigterm(status: Path) -> bool:
    """Whether a process blocks or catches SIGTERM (15): then it ends by itself."""
    lines = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
    return any(int(lines[name], 16) >> 14 & 1 for name in ("SigBlk", "SigCgt"))


def _switch(**streams: Any) -> subprocess.Popen[str]:
    """A gfswitch that writes a warning to its log at the start, as the flag has no effect."""
    command = [str(find_program("gfswitch")), "--no-p4", "--disable-colors", "--control-socket", "none"]
    return subprocess.Popen([*command, "--grpc-server-addr", "none"], text=True, **streams)


def test_a_switch_whose_log_is_on_a_full_disk_goes_on() -> None:
    with Path("/dev/full").open("wb") as full, _switch(stdout=subprocess.PIPE, stderr=full) as switch:
        assert switch.stdout is not None
        assert switch.stdout.readline().startswith("gfswitch ready")
        switch.terminate()
        assert switch.wait(timeout=10) == 0


@pytest.mark.parametrize("log", [subprocess.PIPE, None])
def test_a_switch_that_cannot_say_that_it_is_ready_ends_with_1(log: int | None) -> None:
    with Path("/dev/full").open("wb") as full:
        switch = _switch(stdout=full, stderr=full if log is None else log)
        _, errors = switch.communicate(timeout=10)
    assert switch.returncode == 1
    assert errors is None or "saying that the switch is ready: No space left on device" in errors
