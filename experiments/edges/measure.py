"""A run under Mininet: a source, one subscriber behind a link, and perhaps another flow over it."""

import asyncio
import json
import secrets
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from experiments.diffusion import tcp_flow
from experiments.edges.plan import OTHER, RECORD, SOURCE, SUBSCRIBER, Case, Outcome
from experiments.tree.service import address, dispatchers
from experiments.tree.stream import Source, stream
from groupflow.agents.agent_process import AgentProcess
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.measure import HealthCheck
from groupflow.lab.network import Network, running
from groupflow.lab.waiting import until
from groupflow.processes import program
from groupflow.study.experiment import RunError
from groupflow.tree.members import TreeRecvOptions, TreeSendOptions

BEGIN_S = 3.0
"""time before the measurement: the start of a connection is not compared"""
_PORT = 26480
_WINDOW = 1 << 20
_PATIENCE_S = 30.0


def run(case: Case, seconds: float, folder: Path) -> Outcome:
    """Runs a case. Needs root. Raises RunError, ClientError and the errors of `running`."""
    with running(case.topology(), folder / "logs") as network:
        ControllerProcess(network, folder / "logs").start()
        set_control = ["sysctl", "-qw", f"net.ipv4.tcp_congestion_control={case.kind.control}"]
        done = network.hosts[SOURCE].run(set_control, 10)
        if done.returncode != 0:
            raise RunError(f"{case.kind.control}: {done.stderr.strip()}; load its module")
        health = HealthCheck(network)
        outcome = asyncio.run(_measure(network, case, seconds))
        lagging = health.lagging()
    goodput, beside, missing = outcome
    return Outcome(case, goodput, beside, missing, lagging)


async def _measure(network: Network, case: Case, seconds: float) -> tuple[float, float, float]:
    async with AsyncExitStack() as stack:
        token = secrets.token_hex(16)
        pin = await stack.enter_async_context(
            dispatchers(network.hosts[SOURCE].launcher(), token, plain=False)
        )
        common: dict[str, Any] = {"to": address(network, SOURCE), "token": token, "tls_pin": pin}
        common |= {"edges": case.kind.edges}
        if case.kind.edges == "datagrams":
            common |= {"slow": "skip", "align": RECORD}
        source = AgentProcess(
            TreeSendOptions(name=SOURCE, **common),
            launcher=network.hosts[SOURCE].launcher(),
            piped_input=True,
        )
        await stack.enter_async_context(source)
        subscriber = AgentProcess(
            TreeRecvOptions(name=SUBSCRIBER, start="start", parallel=case.kind.parallel, **common),
            launcher=network.hosts[SUBSCRIBER].launcher(),
        )
        await stack.enter_async_context(subscriber)
        other = (
            await stack.enter_async_context(_other(network, case.beside, seconds)) if case.beside else None
        )
        async with asyncio.TaskGroup() as tasks:
            reading = _Reading(subscriber)
            feeding = Source(source.data_in)
            stop = asyncio.Event()
            read = tasks.create_task(reading.read(exact=case.kind.edges != "datagrams"))
            write = tasks.create_task(feeding.write(case.offered_bps, stop))
            if not await until(lambda: reading.count > 0, _PATIENCE_S):
                raise RunError("no bytes come over the edge")
            await asyncio.sleep(BEGIN_S)
            before = _counts(subscriber, reading, other)
            await asyncio.sleep(seconds)
            after = _counts(subscriber, reading, other)
            stop.set()
            await write
            read.cancel()
    return _figures(before, after)


class _Reading:
    """Reads the stream at the subscriber."""

    def __init__(self, subscriber: AgentProcess) -> None:
        self._from = subscriber.data_out
        self.count = 0

    async def read(self, *, exact: bool) -> None:
        """Reads to the end. Raises RunError for a wrong byte, if `exact`: with holes it cannot tell."""
        while chunk := await self._from.read(1 << 16):
            if exact and chunk != stream(self.count, self.count + len(chunk)):
                raise RunError(f"byte {self.count} or one after it is not the stream's")
            self.count += len(chunk)


class _Other:
    """The other flow's sink."""

    def __init__(self) -> None:
        self.count = 0

    async def follow(self, lines: asyncio.StreamReader) -> None:
        async for line in lines:
            self.count = int(json.loads(line)["bytes"])


@asynccontextmanager
async def _other(network: Network, control: str, seconds: float) -> AsyncGenerator[_Other]:
    script = [sys.executable, str(tcp_flow.__file__)]
    sink = program(network.hosts[SUBSCRIBER].launcher(), [*script, "sink", str(_PORT), str(_WINDOW)])
    target = str(network.topology.hosts[SUBSCRIBER].ip)
    words = ["send", target, str(_PORT), control, str(BEGIN_S + seconds + _PATIENCE_S)]
    async with sink as receiving:
        assert receiving.stdout
        await receiving.stdout.readline()
        other = _Other()
        async with program(network.hosts[OTHER].launcher(), [*script, *words]) as sending:
            assert sending.stdout
            drains = [
                asyncio.create_task(other.follow(receiving.stdout)),
                asyncio.create_task(sending.stdout.read()),
            ]
            try:
                yield other
            finally:
                for drain in drains:
                    drain.cancel()
                await asyncio.wait(drains)


@dataclass(frozen=True)
class _Counts:
    """Counters of bytes at a moment."""

    at: float
    edge: int
    other: int
    missing: int


def _counts(subscriber: AgentProcess, reading: _Reading, other: _Other | None) -> _Counts:
    told = subscriber.latest["progress"].fields.get("datagrams")
    missing = cast(dict[str, int], told)["missing_bytes"] if isinstance(told, dict) else 0
    now = asyncio.get_running_loop().time()
    return _Counts(now, reading.count, other.count if other else 0, missing)


def _figures(before: _Counts, after: _Counts) -> tuple[float, float, float]:
    """Bit/s of the edge and of the other flow, and the share that was lost."""
    took, came = after.at - before.at, after.edge - before.edge
    missing = after.missing - before.missing
    return 8 * came / took, 8 * (after.other - before.other) / took, missing / max(1, missing + came)
