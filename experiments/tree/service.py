"""The dispatchers of an experiment's tree."""

import asyncio
import json
import sys
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from groupflow.lab.network import Network
from groupflow.processes import program
from groupflow.store.sqlite import SqliteStore
from groupflow.study.errors import RunFailedError
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
        """Starts one more process. Raises RunFailedError."""
        port = PORT + len(self._running)
        words = ["serve", "--token-file", str(self._token), "--listen", f"0.0.0.0:{port}", "--json"]
        words += ["--store", str(self._store), *(["--plain"] if plain else []), *self._words]
        command = [*_TREE, *words]
        process = self._running[port] = await stack.enter_async_context(program(self._launcher, command))
        assert process.stdout
        async with asyncio.timeout(_PATIENCE_S):
            line = (await process.stdout.readline()).decode()
        if '"ready"' not in line:
            raise RunFailedError("the dispatchers did not start")
        self.pin = json.loads(line)["tls_pin"]
        drain = asyncio.create_task(process.stdout.read())
        stack.push_async_callback(asyncio.wait, [drain])
        stack.callback(drain.cancel)

    async def tree(self) -> dict[str, Any]:
        """The tree as `groupflow tree show` has it. Raises RunFailedError."""
        known = ["--plain"] if self.pin is None else ["--tls-pin", self.pin]
        words = ["show", "--to", f"127.0.0.1:{PORT}", "--token-file", str(self._token), *known, "--json"]
        async with program(self._launcher, [*_TREE, *words]) as process:
            assert process.stdout
            async with asyncio.timeout(_PATIENCE_S):
                text = await process.stdout.read()
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise RunFailedError("the dispatchers do not tell the hosts of the tree") from None

    async def heads(self) -> set[str]:
        """The hosts, except the source, that are heads of their clusters. Raises RunFailedError."""
        tree = await self.tree()
        return {host["host"] for host in tree["hosts"] if host["is_head"]} - {tree["source"]}

    async def kill_owner(self) -> None:
        """Kills the process that runs most of the dispatchers. Raises RunFailedError."""
        database = await SqliteStore.open(self._store)
        try:
            shares = Shares(database, "trees/tree/", lease=1.0)
            await shares.look()
        finally:
            await database.close()
        found = Counter(owner for owner in shares.owners.values() if owner in shares.processes)
        if not found:
            raise RunFailedError("no process runs a dispatcher")
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
