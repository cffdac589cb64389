"""Child processes: started, watched and ended, and never left behind.

`Daemon` is a long-running process, whose output is in a log file; `program` and `started` are for processes
that talk with this one over pipes, in an event loop. All have sessions of their own, so that Ctrl-C in the
terminal is for this process to handle. The kernel ends them with this process.
"""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

from groupflow.errors import Error, reason

log = logging.getLogger(__name__)

GROUPFLOW = (sys.executable, "-m", "groupflow.cli.main")
"""the command `groupflow`"""
STOP_SECONDS = 3.0
"""from SIGTERM to SIGKILL; gfagent needs 0.3 s to leave its session"""
_BY_SIGNAL = 128
"""from here on, the status of a process that a signal ended"""
_POLL_SECONDS = 0.01


class DaemonError(Error):
    """A process did not start, or died. One line with its name, its end and its last output."""


class Daemon:
    """One process, which may be killed and started again with the same command."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path | None,
        *,
        environment: Mapping[str, str] | None = None,
        nice: int = 0,
        descriptors: Sequence[int] = (),
        may_end: bool = False,
    ) -> None:
        """`log` None: its output is thrown away, and its messages go to the stderr of this process.

        `environment` is added to this process's own; `nice`: -20 is the highest priority, 19 lowest.

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
        self._is_stopping = False
        self._log_start = 0
        self._log_seen = 0

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} was never started"
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts it. Call from the main thread: the kernel ends the process with its parent thread."""
        command = _tied(("nice", "-n", str(self._nice), *self.command), "KILL")
        path = self.log or Path(os.devnull)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as log:
            self._log_start = log.tell()
            self._log_seen = self._log_seen or self._log_start
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT if self.log else None,
                    env=self._environment,
                    pass_fds=self._descriptors,
                    start_new_session=True,
                )
            except OSError as error:
                raise DaemonError(f"{self.name}: cannot start: {reason(error)}") from None
        # A session of its own is also a scheduling group of its own where autogroups are on (sched(7)):
        # niceness then counts within it only.
        with suppress(OSError):
            Path(f"/proc/{self.pid}/autogroup").write_text(str(os.nice(0) + self._nice))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait_ready(self, ready: Callable[[], bool], seconds: float = 15.0) -> None:
        """Returns when `ready()`. Raises DaemonError when the process ends before, or takes too long."""
        deadline = time.monotonic() + seconds
        while not ready():
            if not self.alive:
                if ready():  # it ended in between
                    return
                raise DaemonError(self.death())
            if time.monotonic() > deadline:
                late = f"is not ready after {seconds:g} s; see {self._messages}"
                raise DaemonError(f"{self.name} (pid {self.pid}) {late}")
            time.sleep(_POLL_SECONDS)

    def check(self) -> None:
        """Raises DaemonError when the process was started, was not stopped, and is dead."""
        if self._process is not None and not self._is_stopping and not self.alive:
            if self._may_end and self._process.poll() == 0:
                return
            raise DaemonError(self.death())

    def death(self) -> str:
        """The end of the process, in one line."""
        assert self._process is not None
        how = how_it_ended(code := self._process.poll())
        # The last line of a killed process says nothing of its end.
        last = "" if code == -signal.SIGKILL else _cause(self.last_line())
        said = f": {last}" if last else f"; see {self._messages}"
        return f"{self.name} (pid {self.pid}) {how}{said}"

    @property
    def _messages(self) -> Path | str:
        return self.log or "its messages above"

    def output(self) -> str:
        """Output of the process since its last start."""
        with suppress(FileNotFoundError), (self.log or Path(os.devnull)).open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")
        return ""

    def new_lines(self) -> list[str]:
        """Whole lines that the process, or one before it, has written to the log since the last call."""
        with suppress(FileNotFoundError), (self.log or Path(os.devnull)).open("rb") as log:
            log.seek(self._log_seen)
            whole, end, _ = log.read().rpartition(b"\n")
            self._log_seen += len(whole + end)
            return whole.decode(errors="replace").splitlines()
        return []

    def last_line(self) -> str:
        lines = [line.strip() for line in self.output().splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def stop(self) -> str | None:
        """Ends the process, and what it started, by SIGTERM, or SIGKILL if it does not react. Does nothing
        when it does not run. Returns a line where the process says by its status that it has failed before,
        as one does whose file met a full disk."""
        if self._process is None:
            return None
        self._is_stopping = True
        if lived := self.alive:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        failed = lived and not self._may_end and 0 < self._process.returncode < _BY_SIGNAL
        line = self.death() if failed else None
        self._process, self._is_stopping = None, False
        return line

    def kill(self) -> None:
        """SIGKILL, as a crash would; the process counts as dead until `restart` or `stop`."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def restart(self) -> None:
        """Starts the process again after `kill`; the caller waits until it is ready."""
        assert not self.alive, f"{self.name} still runs"
        self.start()


def _cause(line: str) -> str:
    """The cause in an agent's last event, or the line itself."""
    with suppress(ValueError, TypeError, KeyError):
        return str(json.loads(line)["cause"])
    return line


@asynccontextmanager
async def program(
    launcher: Sequence[str], command: Sequence[str], *, errors: int | None = DEVNULL
) -> AsyncGenerator[Process]:
    """Runs a program for the time of the block, with a pipe as its stdout.

    `errors` None: its messages go to the stderr of this process.
    """
    process = await started(launcher, command, stdin=DEVNULL, stdout=PIPE, stderr=errors)
    try:
        yield process
    finally:
        await ended(process, process.communicate)  # throws its last output away, and closes its pipes


async def started(launcher: Sequence[str], command: Iterable[str], **pipes: Any) -> Process:
    """Starts a program in the place to which `launcher` leads; `pipes` are arguments for asyncio. Raises
    OSError."""
    return await asyncio.create_subprocess_exec(
        *launcher, *_tied(command, "TERM"), start_new_session=True, **pipes
    )


async def ended(process: Process, exited: Callable[[], Awaitable[object]]) -> None:
    """Ends a program by SIGTERM, or SIGKILL if it does not react; `exited` waits for its end."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await exited()
    except TimeoutError:
        log.warning("a program does not stop, killing it pid=%d", process.pid)
        with suppress(ProcessLookupError):
            process.kill()
        await exited()


def _tied(command: Iterable[str], signal: str) -> list[str]:
    """The command, wrapped so that the kernel sends it this signal if this process is killed."""
    return ["setpriv", "--pdeathsig", signal, *command]


def path_with_programs() -> str:
    """$PATH, and behind it the folder of groupflow's programs: sudo leaves a virtual environment out."""
    return f"{os.environ.get('PATH', os.defpath)}:{Path(sys.executable).parent}"


def how_it_ended(code: int | None) -> str:
    """The end of a process in words, from its exit code as `subprocess` has it (negative for a signal)."""
    return f"was ended by signal {-code}" if code is not None and code < 0 else f"exited with status {code}"


_INTERVAL_S = 0.02


async def until(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether `holds()` became true within `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110 (there is no event to wait for)
                await asyncio.sleep(_INTERVAL_S)
    except TimeoutError:
        return False
    return True
