"""Dispatchers, and processes of hosts that are connected to them."""

import hashlib
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from groupflow.agents.agent_process import AgentProcess
from groupflow.store.interface import MemoryStore
from groupflow.tree.options import DispatchOptions, TreeRecvOptions, TreeSendOptions
from groupflow.tree.service import Dispatch

TOKEN = "c0ffee"
LISTEN = ("127.0.0.1", 0)
FILE_BYTES = 8 << 20


class Grove:
    """Dispatchers, and hosts that are connected to them."""

    def __init__(self, stack: AsyncExitStack, service: Dispatch) -> None:
        self.stack = stack
        self.service = service
        identity = service.forest.identity
        self.common: dict[str, Any] = {
            "to": f"127.0.0.1:{service.port}",
            "token": TOKEN,
            "tls_pin": identity.pin if identity else None,
            "listen": "127.0.0.1:0",
        }

    async def start(self, options: TreeSendOptions | TreeRecvOptions, **how: Any) -> AgentProcess:
        return await self.stack.enter_async_context(AgentProcess(options, **how))

    async def receivers(self, folder: Path, count: int, **options: Any) -> list[AgentProcess]:
        options = {"children": 2} | options
        hosts = [
            TreeRecvOptions(name=f"r{n}", output=folder / f"{n}.bin", start="start", **options, **self.common)
            for n in range(count)
        ]
        return [await self.start(host) for host in hosts]


async def grove(stack: AsyncExitStack, **options: Any) -> Grove:
    given: dict[str, Any] = {"token": TOKEN, "listen": LISTEN} | options
    return Grove(stack, await stack.enter_async_context(Dispatch(DispatchOptions(**given), MemoryStore())))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def contents(path: Path) -> bytes:
    return path.read_bytes()


def complete_files(folder: Path) -> list[Path]:
    return list(folder.glob("*.bin"))
