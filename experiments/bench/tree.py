"""What TLS costs in a clustered tree: a stream through a host that passes it on, with it and without.

`make bench` runs it; `python -m experiments.bench.tree` runs it alone. All on loopback, on both processors.
"""

from __future__ import annotations

import asyncio
import resource
import secrets
import statistics
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from experiments.bench.figure import Figure
from groupflow.client.agent_process import AgentProcess
from groupflow.store.memory import MemoryStore
from groupflow.tree.members import TreeRecvOptions, TreeSendOptions
from groupflow.tree.options import DispatchOptions
from groupflow.tree.service import Dispatch

_BYTES = 1 << 30
_TURNS = 5
_HOSTS = ("first", "second")
"""each serves one: the source sends to one of them, and that one to the other"""


@dataclass(frozen=True)
class _Run:
    """A stream through all."""

    seconds: float
    cpu: float
    """seconds of processor time of the three hosts, together"""


def figures() -> list[Figure]:
    """Goodput and processor time, and what TLS makes of them."""
    return asyncio.run(_figures())


async def _figures() -> list[Figure]:
    runs: dict[bool, list[_Run]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream"
        with path.open("wb") as file:
            file.truncate(_BYTES)
        await _run(path, plain=True)  # the file is in no cache yet
        for _ in range(_TURNS):
            for plain in runs:
                runs[plain].append(await _run(path, plain=plain))
    gigabytes = _BYTES / 1e9
    cpu = {plain: statistics.median(run.cpu for run in own) / gigabytes for plain, own in runs.items()}
    goodput = {
        plain: statistics.median(8e-6 * _BYTES / run.seconds for run in own) for plain, own in runs.items()
    }
    pairs = zip(runs[False], runs[True], strict=True)
    ratios = sorted(tls.cpu / plain.cpu for tls, plain in pairs)
    spread = f"of {_TURNS} turns {ratios[0]:.2f} to {ratios[-1]:.2f}"
    note = "source and two hosts in a row, on both processors"
    return [
        Figure("tree, plain", round(goodput[True]), "Mbit/s", note),
        Figure("tree, TLS 1.3", round(goodput[False]), "Mbit/s", note),
        Figure("tree, processor time, plain", round(cpu[True], 2), "s/GB", "of the three hosts"),
        Figure("tree, processor time, TLS 1.3", round(cpu[False], 2), "s/GB", "of the three hosts"),
        Figure("tree, TLS 1.3 over plain", round(statistics.median(ratios), 2), "of processor time", spread),
    ]


async def _run(path: Path, *, plain: bool) -> _Run:
    token = secrets.token_hex(16)
    options = DispatchOptions(token=token, listen=("127.0.0.1", 0), plain=plain)
    began_cpu = _children()
    async with Dispatch(options, MemoryStore()) as dispatch, AsyncExitStack() as stack:
        identity = dispatch.forest.identity
        common: dict[str, Any] = {
            "to": f"127.0.0.1:{dispatch.port}",
            "token": token,
            "children": 1,
            "tls_pin": identity.pin if identity else None,
        }
        for name in _HOSTS:
            receiving = TreeRecvOptions(name=name, output=Path("/dev/null"), start="start", **common)
            await stack.enter_async_context(AgentProcess(receiving))
        sending = TreeSendOptions(name="source", file=path, members=len(_HOSTS), **common)
        source = await stack.enter_async_context(AgentProcess(sending))
        complete = await source.finish()
    return _Run(complete.number("seconds"), _children() - began_cpu)


def _children() -> float:
    """Seconds of processor time of all that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    console = Console()
    for figure in figures():
        console.print(f"{figure.name}: {figure.value:,} {figure.unit}, {figure.note}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
