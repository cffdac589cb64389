"""gfagent as a supervised child process: started, listened to, and never left behind."""

import asyncio
import logging
import os
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from groupflow.agents.errors import AgentError, ClientError
from groupflow.agents.events import Event, EventError, parse_event
from groupflow.agents.options import RoleOptions
from groupflow.errors import reason
from groupflow.needs import MissingError
from groupflow.processes import ended, how_it_ended, started


def find_program(name: str) -> Path:
    """The program beside this Python interpreter, else on PATH. Raises MissingError."""
    beside = Path(sys.executable).parent / name
    if beside.is_file() and os.access(beside, os.X_OK):
        return beside
    found = shutil.which(name)
    if found is None:
        cure = "run make setup in the checkout, or install the wheel"
        raise MissingError(f"no {name} beside {sys.executable} or on PATH; {cure}")
    return Path(found)


log = logging.getLogger(__name__)

USAGE = 2
"""gfagent's exit code for an invalid command line."""
MEMBERS_LOST = 3
"""gfagent's exit code of a transfer during which members were lost."""

_LINE_LIMIT = 4 << 20
"""bytes; one line has the statistics of all streams of a cache, or a round of all clients of a server"""
_KEPT_LINES = 20


class AgentProcess:
    """One gfagent. `async with` starts it and at its end stops it; events go to `on_event` and `latest`."""

    def __init__(
        self,
        options: RoleOptions,
        *,
        launcher: Sequence[str] = (),
        program: Path | None = None,
        on_event: Callable[[Event], None] | None = None,
        piped_input: bool = False,
        inherit_input: bool = False,
        inherit_output: bool = False,
        input_from: int = DEVNULL,
        output_to: int = PIPE,
        words: Callable[[str], str] = str,
    ) -> None:
        """`launcher` goes before the command, to run it elsewhere, such as in a network namespace. `words`
        makes of an error's text what is shown.

        gfagent's stdin is empty, or `data_in` (`piped_input`), or this process's own (`inherit_input`), or
        the descriptor `input_from`. The stdout of a receiver without an output file is `data_out`, or this
        process's own (`inherit_output`), or the descriptor `output_to`. The caller closes descriptors.
        """
        self.options = options
        self.latest: dict[str, Event] = {}
        """the last event of each name"""
        self._words = words
        self._launcher = tuple(launcher)
        self._program = program
        self._on_event = on_event
        self._stdin = PIPE if piped_input else None if inherit_input else input_from
        self._stdout = None if inherit_output else output_to
        self._arrived: dict[str, asyncio.Event] = {}
        self._messages: deque[str] = deque(maxlen=_KEPT_LINES)
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._exit: asyncio.Task[int] | None = None

    async def __aenter__(self) -> Self:
        program = self._program or find_program("gfagent")
        command = (str(program), *self.options.arguments())
        environment = dict(os.environ)
        if self.options.token:  # as every user could read it on the command line
            environment["GROUPFLOW_TOKEN"] = self.options.token
        try:
            self._process = await started(
                self._launcher, command, stdin=self._stdin, stdout=self._stdout, stderr=PIPE,
                env=environment, limit=_LINE_LIMIT,
            )  # fmt: skip
        except OSError as error:
            raise ClientError(f"cannot start {error.filename or command[0]}: {reason(error)}") from None
        log.debug("agent started pid=%d command=%s", self._process.pid, " ".join(command))
        events, others = self._streams(self._process)
        self._readers = [asyncio.create_task(self._read(stream)) for stream in (events, others) if stream]
        self._exit = asyncio.create_task(self._wait())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def data_in(self) -> asyncio.StreamWriter:
        """gfagent's stdin; only with `piped_input`."""
        writer = self._running.stdin
        assert writer is not None, "started without piped_input"
        return writer

    @property
    def data_out(self) -> asyncio.StreamReader:
        """gfagent's stdout; only of a receiver without an output file."""
        reader = self._running.stdout
        assert reader is not None
        return reader

    @property
    def returncode(self) -> int | None:
        return self._running.returncode

    async def wait_for(self, name: str) -> Event:
        """The latest event of that name; waits for the first. Raises AgentError if gfagent ends before."""
        if name not in self.latest:
            arrived = asyncio.create_task(self._arrived.setdefault(name, asyncio.Event()).wait())
            try:
                await asyncio.wait({arrived, self._exited}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                arrived.cancel()
        if name not in self.latest:
            raise self._failure()
        return self.latest[name]

    async def finish(self) -> Event:
        """Waits until gfagent has ended by itself. Returns its `complete` event. Raises AgentError.

        A sender whose `complete` names lost members has succeeded for the other members: no error.
        """
        code = await asyncio.shield(self._exited)
        if "complete" in self.latest and code in (0, MEMBERS_LOST):
            return self.latest["complete"]
        raise self._failure()

    async def until(self, stop: asyncio.Event) -> None:
        """Waits until `stop` is set. Raises AgentError if gfagent ends by itself before."""
        ended = asyncio.create_task(self.finish())
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done() and not stop.is_set():
                ended.result()
        finally:
            ended.cancel()
            stopped.cancel()
            await asyncio.gather(ended, stopped, return_exceptions=True)

    async def stop(self) -> int:
        """Ends gfagent, which leaves its session. Returns its exit code, negative for a signal."""
        if self.returncode is None:
            await ended(self._running, lambda: asyncio.shield(self._exited))
        return await asyncio.shield(self._exited)

    @staticmethod
    async def stop_all(agents: Iterable["AgentProcess"]) -> None:
        """Stops several agents at once: each needs a moment to leave."""
        await asyncio.gather(*(agent.stop() for agent in agents))

    def signal(self, number: signal.Signals) -> None:
        """Sends gfagent a signal; does nothing when gfagent has ended."""
        with suppress(ProcessLookupError):
            self._running.send_signal(number)

    @property
    def _running(self) -> asyncio.subprocess.Process:
        assert self._process is not None, "not started: use `async with`"
        return self._process

    @property
    def _exited(self) -> asyncio.Task[int]:
        assert self._exit is not None, "not started: use `async with`"
        return self._exit

    def _streams(
        self, process: asyncio.subprocess.Process
    ) -> tuple[asyncio.StreamReader | None, asyncio.StreamReader | None]:
        """The streams of events and of other messages; the data of a receiver has stdout for itself."""
        if self.options.data_on_stdout:
            return process.stderr, None
        return process.stdout, process.stderr

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while True:
            try:
                line = await stream.readline()
            except ValueError:  # longer than _LINE_LIMIT; the reader has dropped it
                log.warning("agent line too long pid=%d", self.pid)
                continue
            if not line:
                return
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            event = parse_event(line)
        except EventError:
            self._messages.append(line.decode(errors="replace").strip())
            return
        self.latest[event.name] = event
        self._arrived.setdefault(event.name, asyncio.Event()).set()
        if self._on_event is not None:
            self._on_event(event)

    async def _wait(self) -> int:
        code = await self._running.wait()
        await asyncio.gather(*self._readers)  # its last messages
        return code

    def _failure(self) -> AgentError:
        if "error" in self.latest:
            told = self.latest["error"].fields
            exit_code = told.get("exit")
            return AgentError(
                str(told.get("code", "unknown")),
                self._words(str(told.get("cause", "gfagent failed"))),
                self._words(str(told.get("cure", ""))),
                exit_code if isinstance(exit_code, int) else 1,
            )
        how = how_it_ended(self.returncode)
        said = f": {self._messages[-1].removeprefix('gfagent: ')}" if self._messages else ""
        cause = f"gfagent of {self.options.name} (pid {self.pid}) {how}{said}"
        return AgentError("died", self._words(cause), exit_code=USAGE if self.returncode == USAGE else 1)
