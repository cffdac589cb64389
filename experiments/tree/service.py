"""The dispatchers of an experiment's tree."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from experiments.common.process import program
from topologies.network import Network

_PORT = 26495
_PATIENCE_S = 30.0


class RunError(Exception):
    """A run did not go as planned. One line."""


def address(network: Network, host: str) -> str:
    """Where dispatchers in that host are, IP:PORT."""
    return f"{network.topology.hosts[host].ip}:{_PORT}"


@asynccontextmanager
async def dispatchers(launcher: Sequence[str], token: str, *, plain: bool) -> AsyncGenerator[str | None]:
    """`groupflow tree serve`; the fingerprint of the tree's certificate, None without encryption."""
    words = ["tree", "serve", "--token", token, "--listen", f"0.0.0.0:{_PORT}", "--json"]
    command = [sys.executable, "-m", "groupflow.cli.main", *words, *(["--plain"] if plain else [])]
    async with program(launcher, command) as process:
        assert process.stdout
        async with asyncio.timeout(_PATIENCE_S):
            line = (await process.stdout.readline()).decode()
        if '"ready"' not in line:
            raise RunError("the dispatchers did not start")
        drain = asyncio.create_task(process.stdout.read())
        try:
            yield line.partition('"tls_pin": "')[2].partition('"')[0] or None
        finally:
            drain.cancel()
            await asyncio.wait([drain])
