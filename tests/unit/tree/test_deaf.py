"""Hosts of a clustered tree that read nothing: the effect on the others, and on the memory of all."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from groupflow.agents.agent_process import AgentProcess
from groupflow.agents.errors import AgentError
from groupflow.store.interface import MemoryStore
from groupflow.tree.options import DispatchOptions, TreeRecvOptions, TreeSendOptions
from groupflow.tree.service import Dispatch
from tests.support.waiting import until
from tests.unit.tree.hosts import LISTEN, TOKEN, Grove, contents

CHUNK = bytes(range(256)) * 256
STREAM_BYTES = 640 * len(CHUNK)
RATE_BPS = 80_000_000
CACHE_BYTES = 4 << 20
MEMORY_KIB = 24 << 10
"""bound of a host with that cache, through which the stream comes"""


def peak_kib(agent: AgentProcess) -> int:
    """Peak memory of a process (VmHWM)."""
    status = Path(f"/proc/{agent.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


async def give(source: AgentProcess) -> None:
    """The stream, at its rate."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    for given in range(0, STREAM_BYTES, len(CHUNK)):
        await asyncio.sleep(began + 8 * given / RATE_BPS - loop.time())
        source.data_in.write(CHUNK)
        await source.data_in.drain()


def progress(agent: AgentProcess) -> int:
    """Bytes that the host reports."""
    return agent.latest["progress"].integer("bytes") if "progress" in agent.latest else 0


@pytest.mark.slow
@pytest.mark.parametrize("how", ["its reader takes nothing", "it stands still"])
async def test_who_takes_nothing_is_cut_off_and_the_others_have_all(tmp_path: Path, how: str) -> None:
    async with AsyncExitStack() as stack:
        options = DispatchOptions(token=TOKEN, listen=LISTEN)
        tree = Grove(stack, await stack.enter_async_context(Dispatch(options, MemoryStore())))
        common: dict[str, Any] = tree.common | {"slow": "isolate", "cache": CACHE_BYTES, "children": 3}
        source = await tree.start(TreeSendOptions(name="source", members=3, **common), piped_input=True)
        unread, stdout = os.pipe()
        stack.callback(os.close, unread)
        stack.callback(os.close, stdout)
        # No host is below it: one that needs 0.6 s to notice that its parent stands still lacks more than
        # the caches of the others hold, and is cut off.
        alone: dict[str, Any] = common | {"children": 0}
        deaf = await tree.start(TreeRecvOptions(name="deaf", start="start", **alone), output_to=stdout)
        others = [
            await tree.start(
                TreeRecvOptions(name=f"r{n}", output=tmp_path / f"{n}.bin", start="start", **common)
            )
            for n in range(2)
        ]
        await until(lambda: tree.service.forest.attached == 3)
        if how == "it stands still":
            deaf.signal(signal.SIGSTOP)
        async with asyncio.timeout(60):
            await give(source)
        await until(lambda: all(progress(host) == STREAM_BYTES for host in others))
        memory = {host.options.name: peak_kib(host) for host in (source, deaf, *others)}
        source.data_in.close()
        for host in (source, *others):
            await asyncio.wait_for(host.finish(), 60)
        deaf.signal(signal.SIGCONT)
        with pytest.raises(AgentError, match=r"nobody has the stream|the source has left"):
            await asyncio.wait_for(deaf.finish(), 60)
    assert all(contents(tmp_path / f"{n}.bin") == CHUNK * 640 for n in range(2))
    assert max(memory.values()) < MEMORY_KIB, memory
