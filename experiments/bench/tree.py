"""The cost of edges of a clustered tree: a stream that a host passes on, plain and with TLS.

`groupflow bench tree` runs it alone. All on loopback, on both processors.
"""

import asyncio
import secrets
import statistics
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.bench.tools import Figure, ended_s, in_turns
from groupflow.agents.agent_process import AgentProcess
from groupflow.store.interface import MemoryStore
from groupflow.tree.options import DispatchOptions, TreeRecvOptions, TreeSendOptions
from groupflow.tree.service import Dispatch

_TURNS = 5
_BYTES = 1 << 30
_HOSTS = ("first", "second")
"""each serves one: the source sends to the first, which sends to the second"""


@dataclass(frozen=True)
class _Run:
    """A stream through all hosts."""

    seconds: float
    cpu: float
    """seconds of processor time of the three hosts, together"""
    arrived: int
    """bytes that the last host received"""


_PLAIN, _TLS = "plain", "TLS 1.3"
"""connections between hosts"""


def figures() -> list[Figure]:
    """Goodput and processor time, and their change by TLS."""
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(_BYTES)
        measured = in_turns((_PLAIN, _TLS), 1 + _TURNS, lambda kind: asyncio.run(_run(Path(file.name), kind)))
    # In the first turn the file is in no cache.
    runs = {kind: found[1:] for kind, found in measured.items()}
    note = "source and two hosts in a row, on both processors"
    figures: list[Figure] = []
    for kind, own in runs.items():
        goodput = statistics.median(8e-6 * run.arrived / run.seconds for run in own)
        cpu = statistics.median(_cost(run) for run in own)
        figures += [
            Figure(f"tree, {kind}", round(goodput), "Mbit/s", note),
            Figure(f"tree, processor time, {kind}", round(cpu, 2), "s/GB", "of the three hosts"),
        ]
    ratios = sorted(_cost(tls) / _cost(plain) for tls, plain in zip(runs[_TLS], runs[_PLAIN], strict=True))
    spread = f"of {_TURNS} turns {ratios[0]:.2f} to {ratios[-1]:.2f}"
    ratio = round(statistics.median(ratios), 2)
    return [*figures, Figure(f"tree, {_TLS} over {_PLAIN}", ratio, "of processor time", spread)]


def _cost(run: _Run) -> float:
    """Seconds of processor time of the three hosts for 10^9 bytes delivered to both."""
    return run.cpu / (run.arrived / 1e9)


async def _run(path: Path, kind: str) -> _Run:
    token = secrets.token_hex(16)
    options = DispatchOptions(token=token, listen=("127.0.0.1", 0), plain=kind == _PLAIN)
    began_cpu = ended_s()
    async with Dispatch(options, MemoryStore()) as dispatch, AsyncExitStack() as stack:
        identity = dispatch.forest.identity
        common: dict[str, Any] = {
            "to": f"127.0.0.1:{dispatch.port}",
            "token": token,
            "children": 1,
            "tls_pin": identity.pin if identity else None,
        }
        hosts: list[AgentProcess] = []
        for name in _HOSTS:
            receiving = TreeRecvOptions(name=name, output=Path("/dev/null"), start="start", **common)
            hosts.append(await stack.enter_async_context(AgentProcess(receiving)))
        sending = TreeSendOptions(name="source", file=path, members=len(_HOSTS), **common)
        source = await stack.enter_async_context(AgentProcess(sending))
        seconds = (await source.finish()).number("seconds")
        arrived = min([(await host.finish()).integer("bytes") for host in hosts])
    return _Run(seconds, ended_s() - began_cpu, arrived)
