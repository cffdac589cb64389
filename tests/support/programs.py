"""`groupflow` programs as processes for tests: events and messages; a controller without switches."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from groupflow.agents.api_token import headers
from groupflow.lab.controller_process import free_port
from tests.support.tokens import token_file
from tests.support.world import TOPOLOGY

AGENTS_TOKEN = "let-me-in"


class Program:
    """A `groupflow` process with the last lines of its output."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.said = ""
        self.events: dict[str, dict[str, Any]] = {}
        self.readers = [
            asyncio.create_task(self._read(stream)) for stream in (process.stdout, process.stderr)
        ]

    async def _read(self, stream: asyncio.StreamReader | None) -> None:
        assert stream is not None
        async for line in stream:
            text = line.decode()
            if text.startswith("{"):
                event = json.loads(text)
                self.events[event["event"]] = event
            else:
                self.said += text

    async def ended(self) -> int:
        code = await self.process.wait()
        await asyncio.gather(*self.readers)
        return code


@asynccontextmanager
async def running(*words: str, **environment: str) -> AsyncGenerator[Program]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "groupflow.cli.main", *words,
        stdout=PIPE, stderr=PIPE, limit=1 << 20, env={**os.environ, **environment},
    )  # fmt: skip
    program = Program(process)
    try:
        yield program
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await program.ended()


async def until(what: str, true: Callable[[], bool]) -> None:
    try:
        async with asyncio.timeout(30):
            while not true():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(what) from None


class Controller:
    """How to start a controller whose switches are not there, and ask it."""

    def __init__(self, folder: Path) -> None:
        (folder / "net.yaml").write_text(TOPOLOGY)
        self.address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.address}"
        self.words = (
            *("controller", "run", "--topology", str(folder / "net.yaml"), "--listen", self.address),
            *("--store", str(folder / "store.db")),
            *("--agent-token-file", token_file(AGENTS_TOKEN)),
        )

    async def get(self, path: str) -> Any:
        known = headers(self.url)
        async with httpx.AsyncClient(base_url=f"{self.url}/v1", trust_env=False, headers=known) as client:
            return (await client.get(path)).json()
