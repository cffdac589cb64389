"""The cost of edges of a clustered tree: a stream that a host passes on, plain, with TLS, and over QUIC.

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

from experiments.bench.tools import Figure, ended_s
from groupflow.agents.agent_process import AgentProcess
from groupflow.store.interface import MemoryStore
from groupflow.tree.members import Edges, TreeRecvOptions, TreeSendOptions
from groupflow.tree.options import DispatchOptions
from groupflow.tree.service import Dispatch

_TURNS = 5
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


@dataclass(frozen=True)
class _Kind:
    """A kind of connection between hosts."""

    name: str
    plain: bool
    edges: Edges
    bytes: int
    rate_bps: int | None = None
    """rate at which the source is given data; None: as fast as it takes them"""


_PLAIN = _Kind("plain", True, "stream", 1 << 30)
_TLS = _Kind("TLS 1.3", False, "stream", 1 << 30)
_QUIC = _Kind("QUIC", False, "quic", 1 << 30)
_DATAGRAMS = _Kind("QUIC datagrams", False, "datagrams", 1 << 27, 250_000_000)
_KINDS = (_PLAIN, _TLS, _QUIC, _DATAGRAMS)
_RATIOS = ((_TLS, _PLAIN), (_QUIC, _TLS), (_DATAGRAMS, _TLS))
_RECORD = 1128
"""bytes of a datagram: of a record, which is skipped whole"""


def figures() -> list[Figure]:
    """Goodput and processor time, and their change by TLS and QUIC."""
    return asyncio.run(_figures())


async def _figures() -> list[Figure]:
    runs: dict[_Kind, list[_Run]] = {kind: [] for kind in _KINDS}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(1 + _TURNS):
            for kind in _KINDS:
                run = await _run(_file(Path(folder), kind.bytes), kind)
                # In the first turn the files are in no cache.
                runs[kind] += [run] if turn else []
    note = "source and two hosts in a row, on both processors"
    found: list[Figure] = []
    for kind, own in runs.items():
        goodput = statistics.median(8e-6 * run.arrived / run.seconds for run in own)
        cpu = statistics.median(_cost(run) for run in own)
        share = min(run.arrived for run in own) / kind.bytes
        paced = (
            "" if kind.rate_bps is None else f", of {kind.rate_bps / 1e6:.0f}; {share:.2%} or more arrived"
        )
        found += [
            Figure(f"tree, {kind.name}", round(goodput), "Mbit/s", note + paced),
            Figure(f"tree, processor time, {kind.name}", round(cpu, 2), "s/GB", "of the three hosts"),
        ]
    return [*found, *(_ratio(runs, one, other) for one, other in _RATIOS)]


def _cost(run: _Run) -> float:
    """Seconds of processor time of the three hosts for 10^9 bytes delivered to both."""
    return run.cpu / (run.arrived / 1e9)


def _ratio(runs: dict[_Kind, list[_Run]], one: _Kind, other: _Kind) -> Figure:
    """Ratio of processor times per byte, run by run."""
    pairs = zip(runs[one], runs[other], strict=True)
    ratios = sorted(_cost(a) / _cost(b) for a, b in pairs)
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
    began_cpu = ended_s()
    async with Dispatch(options, MemoryStore()) as dispatch, AsyncExitStack() as stack:
        identity = dispatch.forest.identity
        common: dict[str, Any] = {
            "to": f"127.0.0.1:{dispatch.port}",
            "token": token,
            "children": 1,
            "tls_pin": identity.pin if identity else None,
            "edges": kind.edges,
        }
        if kind.edges == "datagrams":
            common |= {"slow": "skip", "align": _RECORD}
        hosts: list[AgentProcess] = []
        for name in _HOSTS:
            receiving = TreeRecvOptions(name=name, output=Path("/dev/null"), start="start", **common)
            hosts.append(await stack.enter_async_context(AgentProcess(receiving)))
        paced = kind.rate_bps is not None
        sending = TreeSendOptions(name="source", file=None if paced else path, members=len(_HOSTS), **common)
        source = await stack.enter_async_context(AgentProcess(sending, piped_input=paced))
        if kind.rate_bps is not None:
            await source.wait_for("joined")
            await _give(source.data_in, kind.bytes, kind.rate_bps)
        seconds = (await source.finish()).number("seconds")
        arrived = min([(await host.finish()).integer("bytes") for host in hosts])
    return _Run(seconds, ended_s() - began_cpu, arrived)


async def _give(stdin: asyncio.StreamWriter, count: int, rate_bps: int) -> None:
    """Writes so many bytes at a rate."""
    chunk = bytes(32 * _RECORD)
    loop = asyncio.get_running_loop()
    began = loop.time()
    for given in range(0, count, len(chunk)):
        await asyncio.sleep(began + 8 * given / rate_bps - loop.time())
        stdin.write(chunk[: count - given])
        await stdin.drain()
    stdin.close()
