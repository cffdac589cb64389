"""Watched processes: their start, the report of their death, and their end with their owner."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from groupflow.processes import Daemon, DaemonError
from tests.support.waiting import wait_until


def shell(tmp_path: Path, script: str) -> Daemon:
    return Daemon("worker", ["sh", "-c", script], tmp_path / "worker.log")


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_it_is_ready_when_its_log_says_so(tmp_path: Path) -> None:
    daemon = shell(tmp_path, "echo serving; exec sleep 60")
    daemon.start()
    daemon.wait_ready(lambda: "serving" in daemon.output())
    daemon.check()
    pid = daemon.pid
    daemon.stop()
    assert not running(pid)


def test_one_that_ends_at_once_is_told_with_its_last_words(tmp_path: Path) -> None:
    daemon = shell(tmp_path, "echo starting; echo 'port 1 is in use; choose another' >&2; exit 3")
    daemon.start()
    with pytest.raises(DaemonError, match=r"worker \(pid \d+\) exited with status 3: port 1 is in use"):
        daemon.wait_ready(lambda: False)


def test_one_that_is_never_ready_is_told(tmp_path: Path) -> None:
    daemon = shell(tmp_path, "exec sleep 60")
    daemon.start()
    with pytest.raises(DaemonError, match="is not ready after"):
        daemon.wait_ready(lambda: False, seconds=0.05)
    daemon.stop()


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    daemon = Daemon("worker", ["/nonexistent/program"], tmp_path / "worker.log")
    daemon.start()
    with pytest.raises(DaemonError, match="worker"):
        daemon.wait_ready(lambda: False)


def test_a_killed_one_is_dead_until_restarted(tmp_path: Path) -> None:
    daemon = shell(tmp_path, "echo serving; exec sleep 60")
    daemon.start()
    daemon.wait_ready(lambda: "serving" in daemon.output())
    first = daemon.pid
    daemon.kill()
    with pytest.raises(DaemonError, match="was ended by signal 9"):
        daemon.check()
    daemon.restart()
    daemon.wait_ready(lambda: "serving" in daemon.output())  # of this start, not the first one's
    assert daemon.pid != first
    daemon.stop()


def test_one_that_ignores_sigterm_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupflow.processes.STOP_SECONDS", 0.1)
    daemon = shell(tmp_path, "trap '' TERM; echo deaf; while :; do sleep 60; done")
    daemon.start()
    daemon.wait_ready(lambda: "deaf" in daemon.output())
    pid = daemon.pid
    daemon.stop()
    assert not running(pid)


def test_it_does_not_outlive_a_killed_owner(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from groupflow.processes import Daemon\n"
        f"d = Daemon('worker', ['sleep', '60'], Path({str(tmp_path / 'log')!r})); d.start()\n"
        "print(d.pid, flush=True); sys.stdin.read()"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | _path(),
    )
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    wait_until(lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n")
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    wait_until(lambda: not running(pid))


def _path() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(sys.path)}


def test_the_reason_of_an_agents_end_is_the_cause_in_its_last_event(tmp_path: Path) -> None:
    event = '{"event":"error","cause":"no sender for 30 s"}'
    with Daemon("h2 (gfagent recv)", ["sh", "-c", f"echo '{event}'; exit 3"], tmp_path / "log") as daemon:
        wait_until(lambda: not daemon.alive)
        assert daemon.death().endswith("exited with status 3: no sender for 30 s")
    with Daemon("other", ["sh", "-c", "echo '{\"a\": 1}'; exit 3"], tmp_path / "other") as daemon:
        wait_until(lambda: not daemon.alive)
        assert daemon.death().endswith('exited with status 3: {"a": 1}')


@pytest.mark.parametrize(
    ("ending", "line"),
    [
        (
            "echo pcap/s1.pcap: no space left on device >&2; exit 1",
            "exited with status 1: pcap/s1.pcap: no space",
        ),
        ("exit 0", None),
        ("exit 143", None),
    ],
)
def test_a_process_that_failed_before_it_was_stopped_says_so(
    tmp_path: Path, ending: str, line: str | None
) -> None:
    script = f"trap '{ending}' TERM; echo ready; while :; do sleep 0.02; done"
    daemon = Daemon("s1", ("sh", "-c", script), tmp_path / "s1.log")
    daemon.start()
    daemon.wait_ready(lambda: "ready" in daemon.output())
    told = daemon.stop()
    assert (told is None) == (line is None) and (line or "") in (told or "")
