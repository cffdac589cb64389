"""The process of a tree's dispatchers, which comes back from its store."""

import asyncio
import json
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from tests.support.tokens import token_file
from tests.support.waiting import until

_SERVE = (sys.executable, "-m", "groupflow.cli.main", "tree", "serve", "--json", "--max-members", "8")
_ATTENTION = 2.0
"""seconds after which hosts have found a process that stood still or was started again"""


class Dispatchers:
    """One process."""

    def __init__(self, folder: Path, token: str, number: int) -> None:
        self._store = folder / "tree.sqlite"
        self._token = token
        self.name = f"dispatchers{number}"
        self.log = folder / f"{self.name}.log"
        self.port = 0
        self.pin = ""
        self.paused = False
        self._process: asyncio.subprocess.Process
        self._awake_since = 0.0

    async def start(self, port: int = 0) -> "Dispatchers":
        """Starts it at that port, or at a free one."""
        options = (
            "--token-file",
            token_file(self._token),
            "--store",
            str(self._store),
            "--listen",
            f"127.0.0.1:{port}",
        )
        with self.log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(*_SERVE, *options, stdout=log, stderr=log)
        await until(lambda: b'"ready"' in self.log.read_bytes() or self.has_ended, seconds=30)
        ready = json.loads(self.log.read_text().splitlines()[0])
        self.port, self.pin = int(ready["port"]), str(ready["tls_pin"])
        self._awake_since = time.monotonic()
        return self

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None

    @property
    def attends(self) -> bool:
        """Whether hosts may rely on it."""
        return not self.paused and time.monotonic() > self._awake_since + _ATTENTION

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        await self._process.wait()

    def pause(self) -> None:
        self.paused = True
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Lets it go on after a pause."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGCONT)
        self.paused, self._awake_since = False, time.monotonic()
