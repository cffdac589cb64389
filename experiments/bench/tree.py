"""What edges of a clustered tree cost: a stream that a host passes on, plain, with TLS, and in UDP.

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
from groupflow.tree.members import Edges, TreeRecvOptions, TreeSendOptions
from groupflow.tree.options import DispatchOptions
from groupflow.tree.service import Dispatch

_TURNS = 5
_HOSTS = ("first", "second")
"""each serves one: the source sends to one of them, and that one to the other"""


@dataclass(frozen=True)
class _Run:
    """A stream through all."""

    seconds: float
    cpu: float
    """seconds of processor time of the three hosts, together"""


@dataclass(frozen=True)
class _Kind:
    """How hosts are connected."""

    name: str
    plain: bool
    edges: Edges
    bytes: int


_PLAIN = _Kind("plain", True, "stream", 1 << 30)
_TLS = _Kind("TLS 1.3", False, "stream", 1 << 30)
_GROUP = _Kind("group transport", False, "group", 1 << 28)
_KINDS = (_PLAIN, _TLS, _GROUP)


def figures() -> list[Figure]:
    """Goodput and processor time, and what TLS and the group transport make of them."""
    return asyncio.run(_figures())


async def _figures() -> list[Figure]:
    runs: dict[_Kind, list[_Run]] = {kind: [] for kind in _KINDS}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(1 + _TURNS):
            for kind in _KINDS:
                run = await _run(_file(Path(folder), kind.bytes), kind)
                # Of the first turn the files are in no cache.
                runs[kind] += [run] if turn else []
    note = "source and two hosts in a row, on both processors"
    found: list[Figure] = []
    for kind, own in runs.items():
        goodput = statistics.median(8e-6 * kind.bytes / run.seconds for run in own)
        cpu = statistics.median(run.cpu for run in own) / (kind.bytes / 1e9)
        found += [
            Figure(f"tree, {kind.name}", round(goodput), "Mbit/s", note),
            Figure(f"tree, processor time, {kind.name}", round(cpu, 2), "s/GB", "of the three hosts"),
        ]
    return [*found, _ratio(runs, _TLS, _PLAIN), _ratio(runs, _GROUP, _TLS)]


def _ratio(runs: dict[_Kind, list[_Run]], one: _Kind, other: _Kind) -> Figure:
    """Of processor time a byte, run by run."""
    pairs = zip(runs[one], runs[other], strict=True)
    ratios = sorted((a.cpu / one.bytes) / (b.cpu / other.bytes) for a, b in pairs)
    spread = f"of {_TURNS} turns {ratios[0]:.2f} to {ratios[-1]:.2f}"
    name = f"tree, {one.name} over {other.name}"
    return Figure(name, round(statistics.median(ratios), 2), "of processor time", spread)


def _file(folder: Path, size: int) -> Path:
    path = folder / str(size)
    if not path.exists():
        with path.open("wb") as file:
            file.truncate(size)
    return path


async def _run(path: Path, kind: _Kind) -> _Run:
    token = secrets.token_hex(16)
    options = DispatchOptions(token=token, listen=("127.0.0.1", 0), plain=kind.plain)
    began_cpu = _children()
    async with Dispatch(options, MemoryStore()) as dispatch, AsyncExitStack() as stack:
        identity = dispatch.forest.identity
        common: dict[str, Any] = {
            "to": f"127.0.0.1:{dispatch.port}",
            "token": token,
            "children": 1,
            "tls_pin": identity.pin if identity else None,
            "edges": kind.edges,
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
