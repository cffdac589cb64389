"""The baseline: the file over one TCP connection per receiver, all at once, on the same network."""

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from pathlib import Path

from experiments.common.scripts import samples, script
from groupflow.lab.network import Network
from groupflow.model.topology import LinkSpec, Topology
from groupflow.processes import Daemon, until
from groupflow.study import RunFailedError

MAX_SECONDS = 20.0
"""A baseline that would take longer gets a smaller file."""
PORT = 7001
_MIB = 1 << 20
_FRAME, SEGMENT = 1514, 1448
"""bytes of a full frame, and of the file in it (TCP with timestamps)"""
_PATIENCE = 5.0
"""factor of the estimate after which, with half a minute more, the baseline is given up"""


@dataclass(frozen=True)
class Plan:
    file_bytes: int
    seconds: float
    """estimated duration"""
    pace: int | None
    """bit/s of each connection, for switches that do not limit the rate"""
    note: str


def plan(topology: Topology, sender: str, receivers: Sequence[str], file_bytes: int, *, paced: bool) -> Plan:
    """The number of bytes to send, so that the baseline takes at most about MAX_SECONDS."""
    rate = topology.link_between(sender, topology.hosts[sender].switch).spec.rate or 10**9
    share = rate * SEGMENT / _FRAME / len(receivers)
    slowest = min(min(share, loss_limit(topology, sender, name)) for name in receivers)
    size = min(file_bytes, max(_MIB, int(MAX_SECONDS * slowest / 8) // _MIB * _MIB))
    note = ""
    if size < file_bytes:
        whole = file_bytes * 8 / slowest
        note = (
            f"TCP got {size / _MIB:.0f} MiB instead of {file_bytes / _MIB:.0f} MiB: "
            f"the whole file was expected to take about {whole:.0f} s"
        )
    return Plan(size, size * 8 / slowest, int(rate / len(receivers)) if paced else None, note)


def loss_limit(topology: Topology, one: str, other: str) -> float:
    """bit/s of TCP on a lossy path: MSS/RTT * sqrt(3/2)/sqrt(p) (Mathis et al., CCR 27(3), 1997, eq. 3)."""
    links = path_links(topology, one, other)
    passed = 1.0
    for link in links:
        passed *= 1 - link.loss / 1e9
    round_trip = 2 * sum(link.delay_ns for link in links) / 1e9
    if passed == 1.0 or round_trip == 0:
        return float("inf")
    return SEGMENT * 8 / round_trip * sqrt(1.5 / (1 - passed))


def path_links(topology: Topology, one: str, other: str) -> list[LinkSpec]:
    """The links from host to host."""
    start, goal = topology.hosts[one].switch, topology.hosts[other].switch
    switches = topology.path(start, goal) or ()
    nodes = [one, *switches, other]
    return [topology.link_between(a, b).spec for a, b in pairwise(nodes)]


async def run(
    network: Network, sender: str, receivers: Sequence[str], file: Path, folder: Path, todo: Plan
) -> float:
    """Sends the first `todo.file_bytes` of `file`, kept in `folder`. Returns the seconds from the first byte
    sent to the last that the slowest receiver had. Raises RunFailedError, DaemonError."""
    part = folder / "baseline.bin"
    expected = await asyncio.to_thread(_cut, file, part, todo.file_bytes)
    words = ["serve", PORT, part, len(receivers), *([] if todo.pace is None else [todo.pace])]
    limit = todo.seconds * _PATIENCE + 30
    with ExitStack() as stack:
        server = stack.enter_context(_script(network, sender, folder, *words))
        server.wait_ready(lambda: bool(server.output()))  # it prints a line when it listens
        words = ["fetch", network.topology.hosts[sender].ip, PORT]
        fetchers = [stack.enter_context(_script(network, name, folder, *words)) for name in receivers]

        def over() -> bool:
            for fetcher in fetchers:
                fetcher.check()
            return not any(fetcher.alive for fetcher in fetchers)

        if not await until(over, limit):
            raise RunFailedError(
                f"the TCP baseline did not finish in {limit:.0f} s; see the logs, or use --no-baseline"
            )
        over()
        results = [samples(fetcher)[0] for fetcher in fetchers]
        for fetcher, result in zip(fetchers, results, strict=True):
            if result["sha256"] != expected:
                raise RunFailedError(f"the file of {fetcher.name} differs from the sender's")
        return max(result["finished"] for result in results) - samples(server)[0]["started"]


def _script(network: Network, host: str, folder: Path, *words: object) -> Daemon:
    return script(network, host, folder / f"{host}-tcp.log", *words)


def _cut(file: Path, part: Path, count: int) -> str:
    """Copies the first `count` bytes. Returns their SHA-256."""
    digest = hashlib.sha256()
    with file.open("rb") as data, part.open("wb") as out:
        while count > 0 and (chunk := data.read(min(count, _MIB))):
            out.write(chunk)
            digest.update(chunk)
            count -= len(chunk)
    return digest.hexdigest()
