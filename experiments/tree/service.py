"""The dispatchers of an experiment's tree."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from groupflow.lab.network import Network
from groupflow.processes import program
from groupflow.study.experiment import RunError

PORT = 26495
"""port of the dispatchers"""
_TREE = (sys.executable, "-m", "groupflow.cli.main", "tree")
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
        """Starts the process. Raises RunError."""
        words = ["serve", "--token-file", str(self._token), "--listen", f"0.0.0.0:{PORT}", "--json"]
        words += ["--store", str(self._store), *(["--plain"] if plain else []), *self._words]
        process = await stack.enter_async_context(program(self._launcher, [*_TREE, *words]))
        assert process.stdout
        async with asyncio.timeout(_PATIENCE_S):
            line = (await process.stdout.readline()).decode()
        if '"ready"' not in line:
            raise RunError("the dispatchers did not start")
        self.pin = json.loads(line)["tls_pin"]
        drain = asyncio.create_task(process.stdout.read())
        stack.push_async_callback(asyncio.wait, [drain])
        stack.callback(drain.cancel)

    async def tree(self) -> dict[str, Any]:
        """The tree as `groupflow tree show` has it. Raises RunError."""
        known = ["--plain"] if self.pin is None else ["--tls-pin", self.pin]
        words = ["show", "--to", f"127.0.0.1:{PORT}", "--token-file", str(self._token), *known, "--json"]
        async with program(self._launcher, [*_TREE, *words]) as process:
            assert process.stdout
            async with asyncio.timeout(_PATIENCE_S):
                text = await process.stdout.read()
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise RunError("the dispatchers do not tell the hosts of the tree") from None

    async def heads(self) -> set[str]:
        """The hosts, except the source, that are heads of their clusters. Raises RunError."""
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


@asynccontextmanager
async def dispatchers(launcher: Sequence[str], token: str, *, plain: bool) -> AsyncGenerator[str | None]:
    """The dispatchers of one tree; yields the fingerprint of its certificate, or None."""
    async with served(launcher, token, plain=plain) as found:
        yield found.pin
