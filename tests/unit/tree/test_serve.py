"""`groupflow tree serve`, whose process is killed and started again, or stands still, while a stream runs."""

import asyncio
import json
import os
import signal
import sqlite3
import ssl
import sys
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from groupflow.agents.agent_process import AgentProcess
from groupflow.tree.options import TreeRecvOptions, TreeSendOptions
from tests.support.tokens import token_file
from tests.support.tree import Host
from tests.support.waiting import until
from tests.unit.tree.hosts import TOKEN, complete_files, contents

SERVE = (
    sys.executable,
    "-m",
    "groupflow.cli.main",
    "tree",
    "serve",
    "--token-file",
    token_file(TOKEN),
    "--json",
)
PARTS = 40
PART = 50_000


class Served:
    """The process of the dispatchers."""

    process: asyncio.subprocess.Process
    port: int
    pin: str

    async def start(self, store: Path, port: int = 0, *, stderr: int | None = None) -> "Served":
        more = ("--listen", f"127.0.0.1:{port}", "--store", str(store), "--max-members", "1")
        more += ("--patience", "1500ms")
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(*SERVE, *more, stdout=pipe, stderr=stderr)
        assert self.process.stdout
        async with asyncio.timeout(30):
            ready: dict[str, Any] = json.loads(await self.process.stdout.readline())
        self.port, self.pin = int(ready["port"]), str(ready["tls_pin"])
        self.rest = asyncio.create_task(self.process.stdout.read())
        return self

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        await self.rest


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
async def test_a_process_that_dies_costs_no_byte_and_then_a_parent_does_not(
    tmp_path: Path, how: signal.Signals
) -> None:
    data, store = os.urandom(PARTS * PART), tmp_path / "store"
    async with AsyncExitStack() as stack:
        served = await Served().start(store)
        stack.push_async_callback(served.kill)
        common: dict[str, Any] = {"token": TOKEN, "tls_pin": served.pin, "children": 2}
        common |= {"listen": "127.0.0.1:0", "to": f"127.0.0.1:{served.port}"}

        async def start(options: TreeSendOptions | TreeRecvOptions, **how: Any) -> AgentProcess:
            return await stack.enter_async_context(AgentProcess(options, **how))

        source = await start(TreeSendOptions(name="source", members=5, **common), piped_input=True)
        hosts = [
            await start(TreeRecvOptions(name=f"r{n}", output=tmp_path / f"{n}.bin", start="start", **common))
            for n in range(5)
        ]

        def got(count: int, hosts: list[AgentProcess]) -> bool:
            told = [host.latest.get("progress") for host in hosts]
            return all(progress and progress.integer("bytes") >= count for progress in told)

        source.data_in.write(data[: 10 * PART])
        await until(lambda: got(10 * PART, hosts), seconds=30)
        served.process.send_signal(how)
        source.data_in.write(data[10 * PART : 20 * PART])
        await until(lambda: got(20 * PART, hosts), seconds=30)
        if how == signal.SIGKILL:
            await served.kill()
            served = await Served().start(store, served.port)
            stack.push_async_callback(served.kill)
        else:
            served.process.send_signal(signal.SIGCONT)
        parent = next(host for host in hosts if host.latest["progress"].fields["children"])
        parent.signal(signal.SIGKILL)
        alive = [host for host in hosts if host is not parent]
        source.data_in.write(data[20 * PART : 30 * PART])
        await until(lambda: got(30 * PART, alive), seconds=30)
        source.data_in.write(data[30 * PART :])
        source.data_in.close()
        for agent in (source, *alive):
            await asyncio.wait_for(agent.finish(), 60)
        copies = complete_files(tmp_path)
        assert len(copies) == 4 and all(contents(copy) == data for copy in copies)


@pytest.mark.slow
async def test_a_store_that_stays_locked_ends_the_process_with_one_line(tmp_path: Path) -> None:
    path = tmp_path / "tree.sqlite"
    with (tmp_path / "errors").open("w+b") as errors:
        served = await Served().start(path, stderr=errors.fileno())
        # As a process that is frozen while it writes.
        with closing(sqlite3.connect(path, isolation_level=None)) as frozen:
            frozen.execute("BEGIN IMMEDIATE")
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            source = asyncio.create_task(Host(1, source=True).connect(served.port, context))
            async with asyncio.timeout(30):
                code = await served.process.wait()
            source.cancel()
            await asyncio.wait([source])
        errors.seek(0)
        said = errors.read().decode().splitlines()
    assert code == 1
    cure = "end the stopped process that holds the lock"
    assert said == [f"groupflow: {path}: database is locked; {cure}"]
