"""A long-running child process: started, watched, stopped by its pid, with its output in a log file."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from groupflow.endpoint.processes import STOP_SECONDS, how_it_ended, tied
from groupflow.network.reasons import reason

_POLL_SECONDS = 0.01


class DaemonError(Exception):
    """A process did not start, or died. One line with its name, its end and its last output."""


class Daemon:
    """One process, which may be killed and started again with the same command."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        *,
        environment: Mapping[str, str] | None = None,
        nice: int = 0,
        descriptors: Sequence[int] = (),
        may_end: bool = False,
    ) -> None:
        """`environment` is added to this process's own; `nice`: -20 is the highest priority, 19 lowest.

        `descriptors` of this process stay open in the daemon. One that `may_end` counts as dead only when it
        ended with an error.
        """
        self.name = name
        self.command = tuple(command)
        self.log = log
        self._environment = dict(os.environ) | dict(environment or {})
        self._nice = nice
        self._descriptors = tuple(descriptors)
        self._may_end = may_end
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} was never started"
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts it. Call from the main thread: the kernel ends the process with its parent thread."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        command = tied(("nice", "-n", str(self._nice), *self.command), "KILL")
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=self._environment,
                    pass_fds=self._descriptors,
                    start_new_session=True,  # Ctrl-C in the terminal is for its owner to handle
                )
            except OSError as error:
                raise DaemonError(f"{self.name}: cannot start: {reason(error)}") from None
        if self._nice:
            # A session of its own is also a scheduling group of its own where autogroups are on: sched(7).
            with suppress(OSError):
                Path(f"/proc/{self.pid}/autogroup").write_text(str(self._nice))

    def wait_ready(self, ready: Callable[[], bool], seconds: float = 15.0) -> None:
        """Returns when `ready()`. Raises DaemonError when the process ends before, or takes too long."""
        deadline = time.monotonic() + seconds
        while not ready():
            if not self.alive:
                raise DaemonError(self.death())
            if time.monotonic() > deadline:
                raise DaemonError(
                    f"{self.name} (pid {self.pid}) is not ready after {seconds:g} s; see {self.log}"
                )
            time.sleep(_POLL_SECONDS)

    def check(self) -> None:
        """Raises DaemonError when the process was started and is dead."""
        if self._process is not None and not self.alive:
            if self._may_end and self._process.poll() == 0:
                return
            raise DaemonError(self.death())

    def death(self) -> str:
        """The end of the process, in one line."""
        assert self._process is not None
        how = how_it_ended(code := self._process.poll())
        # The last line of a killed process says nothing of its end.
        last = "" if code == -signal.SIGKILL else self.last_line()
        said = f": {last}" if last else f"; see {self.log}"
        return f"{self.name} (pid {self.pid}) {how}{said}"

    def output(self) -> str:
        """Output of the process since its last start."""
        with suppress(FileNotFoundError), self.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")
        return ""

    def last_line(self) -> str:
        lines = [line.strip() for line in self.output().splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def stop(self) -> None:
        """Ends the process, and what it started, by SIGTERM, or SIGKILL if it does not react. Does nothing
        when it does not run."""
        if self._process is None:
            return
        if self.alive:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """SIGKILL, as a crash would; the process counts as dead until `restart` or `stop`."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def restart(self) -> None:
        """Starts the process again after `kill`; the caller waits until it is ready."""
        assert not self.alive, f"{self.name} still runs"
        self.start()
