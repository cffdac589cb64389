"""A tree under test: its dispatchers, a stream whose bytes show their place, and hosts that check it."""

import asyncio
import json
import random
import sys
import time
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.errors import AgentError
from groupflow.lab.network import Network
from groupflow.lab.transfer import TransferError
from groupflow.processes import program
from groupflow.store.sqlite import SqliteStore
from groupflow.tree.members import TreeRecvOptions
from groupflow.tree.shares import Shares

PORT = 26495
"""port of the first process"""
_TREE = (sys.executable, "-m", "groupflow.cli.main", "tree")
_PATIENCE_S = 30.0


def address(network: Network, host: str) -> str:
    """Address (IP:PORT) of the dispatchers in a host."""
    return f"{network.topology.hosts[host].ip}:{PORT}"


class Processes:
    """`groupflow tree serve`, several times with one store."""

    def __init__(self, store: Path, launcher: Sequence[str], token: str, words: Sequence[str]) -> None:
        self.pin: str | None = None
        """fingerprint of the tree's certificate; None without encryption"""
        self._store = store
        self._launcher = launcher
        self._token = store.with_name("token")
        self._token.write_text(token)
        self._words = words
        self._running: dict[int, Process] = {}
        """by port"""

    async def start(self, stack: AsyncExitStack, *, plain: bool) -> None:
        """Starts one more process. Raises TransferError."""
        port = PORT + len(self._running)
        words = ["serve", "--token-file", str(self._token), "--listen", f"0.0.0.0:{port}", "--json"]
        words += ["--store", str(self._store), *(["--plain"] if plain else []), *self._words]
        command = [*_TREE, *words]
        process = self._running[port] = await stack.enter_async_context(program(self._launcher, command))
        assert process.stdout
        async with asyncio.timeout(_PATIENCE_S):
            line = (await process.stdout.readline()).decode()
        if '"ready"' not in line:
            raise TransferError("the dispatchers did not start")
        self.pin = json.loads(line)["tls_pin"]
        drain = asyncio.create_task(process.stdout.read())
        stack.push_async_callback(asyncio.wait, [drain])
        stack.callback(drain.cancel)

    async def tree(self) -> dict[str, Any]:
        """The tree as `groupflow tree show` has it. Raises TransferError."""
        known = ["--plain"] if self.pin is None else ["--tls-pin", self.pin]
        words = ["show", "--to", f"127.0.0.1:{PORT}", "--token-file", str(self._token), *known, "--json"]
        async with program(self._launcher, [*_TREE, *words]) as process:
            assert process.stdout
            async with asyncio.timeout(_PATIENCE_S):
                text = await process.stdout.read()
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise TransferError("the dispatchers do not tell the hosts of the tree") from None

    async def heads(self) -> set[str]:
        """The hosts, except the source, that are heads of their clusters. Raises TransferError."""
        tree = await self.tree()
        return {host["host"] for host in tree["hosts"] if host["is_head"]} - {tree["source"]}

    async def kill_owner(self) -> None:
        """Kills the process that runs most of the dispatchers. Raises TransferError."""
        database = await SqliteStore.open(self._store)
        try:
            shares = Shares(database, "trees/tree/", lease=1.0)
            await shares.look()
        finally:
            await database.close()
        found = Counter(owner for owner in shares.owners.values() if owner in shares.processes)
        if not found:
            raise TransferError("no process runs a dispatcher")
        port = int(shares.processes[found.most_common(1)[0][0]].address.rpartition(":")[2])
        self._running[port].kill()


@asynccontextmanager
async def processes(
    launcher: Sequence[str], token: str, count: int, *, plain: bool, words: Sequence[str] = ()
) -> AsyncGenerator[Processes]:
    """So many processes, with these further options, which share the dispatchers of one tree."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="groupflow-tree-"))
        found = Processes(Path(folder) / "store", launcher, token, words)
        for _ in range(count):
            await found.start(stack, plain=plain)
        yield found


@asynccontextmanager
async def dispatchers(launcher: Sequence[str], token: str, *, plain: bool) -> AsyncGenerator[str | None]:
    """One process with all dispatchers; yields the fingerprint of the tree's certificate, or None."""
    async with processes(launcher, token, 1, plain=plain) as found:
        yield found.pin


_PERIOD = 65_521
"""bytes after which the stream repeats: a prime, so that no two blocks of a usual size look alike"""
_BLOCK = random.Random(1).randbytes(_PERIOD)


def stream(start: int, end: int) -> bytes:
    """Bytes `start` to `end` of the stream."""
    first, last = start // _PERIOD, (end - 1) // _PERIOD
    return (_BLOCK * (last - first + 1))[start - first * _PERIOD : end - first * _PERIOD]


@dataclass(frozen=True)
class Arrival:
    """An arrival of bytes."""

    at: float
    """seconds, time.monotonic"""
    bytes: int
    """bytes of the stream so far, these included"""


class Subscriber(AgentProcess):
    """A host that receives the stream from its beginning, and checks every byte."""

    def __init__(self, options: TreeRecvOptions, launcher: Sequence[str]) -> None:
        super().__init__(options, launcher=launcher)
        self.arrivals: list[Arrival] = []

    @property
    def received(self) -> int:
        """Bytes received so far."""
        return self.arrivals[-1].bytes if self.arrivals else 0

    async def read(self) -> None:
        """Reads to the end of the stream, or of the host. Raises TransferError."""
        while chunk := await self.data_out.read(1 << 16):
            at, start = time.monotonic(), self.received
            if chunk != stream(start, start + len(chunk)):
                raise TransferError(f"{self.options.name}: byte {start} or one after it is not the stream's")
            self.arrivals.append(Arrival(at, start + len(chunk)))

    @property
    def children(self) -> list[str]:
        """The children that it reported last."""
        progress = self.latest.get("progress")
        return list(progress.texts("children")) if progress else []

    @property
    def packets(self) -> int:
        """QUIC packets received, as it reported last."""
        progress = self.latest.get("progress")
        quic = cast("dict[str, int]", progress.fields.get("quic") or {}) if progress else {}
        return quic.get("came", 0)

    @property
    def host(self) -> str:
        """The host's name in the tree."""
        return self.latest["joined"].text("host")


class Source:
    """The writer of the stream."""

    def __init__(self, into: asyncio.StreamWriter) -> None:
        self.sent = 0
        """bytes that the source's host has taken"""
        self._into = into

    async def write(self, rate: int, stop: asyncio.Event) -> None:
        """Writes at `rate` bit/s, or as fast as they are taken, until `stop` is set; then ends the stream."""
        began = time.monotonic()
        while not stop.is_set():
            due = int((time.monotonic() - began) * rate / 8)
            if due > self.sent:
                self._into.write(stream(self.sent, due))
                await self._into.drain()
                self.sent = due
            await asyncio.sleep(0.002)
        self._into.close()


async def finish(subscriber: Subscriber, reading: asyncio.Task[None]) -> None:
    """Waits until the subscriber has everything. Raises AgentError, TransferError."""
    await reading
    try:
        await subscriber.finish()
    except AgentError as error:
        raise TransferError(f"{subscriber.options.name}: {error}") from None
