"""A tree under test: its dispatchers, a stream whose bytes show their place, and hosts that check it."""

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.errors import AgentError
from groupflow.errors import Error
from groupflow.lab.network import Network
from groupflow.model import ports
from groupflow.processes import GROUPFLOW, program
from groupflow.tree.options import TreeRecvOptions

PORT = ports.TREE
"""port of the dispatchers"""
_PATIENCE_S = 30.0


def address(network: Network, host: str) -> str:
    """Address (IP:PORT) of the dispatchers in a host."""
    return f"{network.topology.hosts[host].ip}:{PORT}"


class Dispatchers:
    """`groupflow tree serve`."""

    def __init__(self, folder: Path, launcher: Sequence[str], token: str, words: Sequence[str]) -> None:
        self.pin: str | None = None
        """fingerprint of the tree's certificate; None without encryption"""
        self._launcher = launcher
        self._store, self._token = folder / "store", folder / "token"
        self._token.write_text(token)
        self._words = words

    async def start(self, stack: AsyncExitStack, *, plain: bool) -> None:
        """Starts the process. Raises Error."""
        words = ["serve", "--token-file", str(self._token), "--listen", f"0.0.0.0:{PORT}", "--json"]
        words += ["--store", str(self._store), *(["--plain"] if plain else []), *self._words]
        process = await stack.enter_async_context(program(self._launcher, [*GROUPFLOW, "tree", *words]))
        assert process.stdout
        async with asyncio.timeout(_PATIENCE_S):
            line = (await process.stdout.readline()).decode()
        if '"ready"' not in line:
            raise Error("the dispatchers did not start")
        self.pin = json.loads(line)["tls_pin"]
        drain = asyncio.create_task(process.stdout.read())
        stack.push_async_callback(asyncio.wait, [drain])
        stack.callback(drain.cancel)

    async def tree(self) -> dict[str, Any]:
        """The tree as `groupflow tree show` has it. Raises Error."""
        known = ["--plain"] if self.pin is None else ["--tls-pin", self.pin]
        words = ["show", "--to", f"127.0.0.1:{PORT}", "--token-file", str(self._token), *known, "--json"]
        async with program(self._launcher, [*GROUPFLOW, "tree", *words]) as process:
            assert process.stdout
            async with asyncio.timeout(_PATIENCE_S):
                text = await process.stdout.read()
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise Error("the dispatchers do not tell the hosts of the tree") from None

    async def heads(self) -> set[str]:
        """The hosts, except the source, that are heads of their clusters. Raises Error."""
        tree = await self.tree()
        return {host["host"] for host in tree["hosts"] if host["is_head"]} - {tree["source"]}


@asynccontextmanager
async def served(
    launcher: Sequence[str], token: str, *, plain: bool, words: Sequence[str] = ()
) -> AsyncGenerator[Dispatchers]:
    """The dispatchers of one tree, with these further options."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="groupflow-tree-"))
        found = Dispatchers(Path(folder), launcher, token, words)
        await found.start(stack, plain=plain)
        yield found


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
        """Reads to the end of the stream, or of the host. Raises Error."""
        while chunk := await self.data_out.read(1 << 16):
            at, start = time.monotonic(), self.received
            if chunk != stream(start, start + len(chunk)):
                raise Error(f"{self.options.name}: byte {start} or one after it is not the stream's")
            self.arrivals.append(Arrival(at, start + len(chunk)))

    @property
    def children(self) -> list[str]:
        """The children that it reported last."""
        progress = self.latest.get("progress")
        return list(progress.texts("children")) if progress else []

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
    """Waits until the subscriber has everything. Raises Error."""
    await reading
    try:
        await subscriber.finish()
    except AgentError as error:
        raise Error(f"{subscriber.options.name}: {error}") from None
